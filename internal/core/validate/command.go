package validate

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// What follows are guesses at what a command line means. They lead to warnings only, so that a wrong one costs a line.

var (
	// secretWord is a word that hands over a secret by itself: password=x, --token=x, https://user:x@host. A reference to
	// a variable is none.
	secretWord = regexp.MustCompile(`(?i)(passw(or)?d|passphrase|secret|token|api-?key)["']?[=:]["']?[^$"']|://[^/:@\s]+:[^$@/\s][^@/\s]*@`)
	// secretFlag is a word whose next one is a secret.
	secretFlag = regexp.MustCompile(`(?i)^--?(pass|passw(or)?d|passphrase|secret|token|api-?key)$`)
	// secretName is the name of a variable that holds a secret.
	secretName = regexp.MustCompile(`(?i)passw(or)?d|passphrase|secret|token|api_?key`)
	// separators part the commands of a shell's line.
	separators = regexp.MustCompile(`[;&|\n]`)
)

// secretFlags are the flags of well-known power tools whose next word is a secret.
var secretFlags = map[string][]string{
	"ipmitool": {"-P"}, "ipmipower": {"-p"}, "ipmi-chassis": {"-p"}, "sshpass": {"-p"}, "curl": {"-u", "--user"}, "wget": {"--password"},
}

// wakers are programs that send magic packets.
var wakers = []string{"ether-wake", "etherwake", "wakeonlan", "wol", "wakelan", "awake"}

// idlers are commands that change nothing.
var idlers = []string{"true", ":", "echo", "sleep", "exit", "test", "printf"}

const inTheOpen = "whoever may read slots can read it"

// podWarnings says where a secret seems to stand in the open. It never repeats it.
func podWarnings(at string, spec v2.MinimalPodSpec) []string {
	var warnings []string
	if what := openSecret(words(spec)); what != "" {
		warnings = append(warnings, fmt.Sprintf("%s.args: %s looks like a secret, and %s; take it from a Secret with env.valueFrom", at, what, inTheOpen))
	}
	for _, variable := range spec.Env {
		if variable.Value != "" && !strings.HasPrefix(variable.Value, "$") && !strings.HasPrefix(variable.Value, "/") && secretName.MatchString(variable.Name) {
			warnings = append(warnings, fmt.Sprintf("%s.env: the value of %s looks like a secret, and %s; use valueFrom.secretKeyRef", at, variable.Name, inTheOpen))
		}
	}
	return warnings
}

// openSecret says where a secret seems to stand, without repeating it; empty: nowhere.
func openSecret(words []string) string {
	var flags []string
	for i, word := range words {
		flags = append(flags, secretFlags[path.Base(word)]...)
		if secretWord.MatchString(word) {
			return "one of its words"
		}
		if (secretFlag.MatchString(word) || slices.Contains(flags, word)) && i+1 < len(words) && plain(words[i+1]) {
			return "what follows " + word
		}
	}
	return ""
}

// plain is whether a word is a value as it stands, and neither a flag nor a reference nor a path.
func plain(word string) bool { return word != "" && !strings.ContainsAny(word[:1], "-$/") }

// words are those of the command line, a shell's script taken apart.
func words(spec v2.MinimalPodSpec) []string {
	var words []string
	for _, part := range slices.Concat(spec.Command, spec.Args) {
		for _, word := range strings.Fields(part) {
			words = append(words, strings.Trim(word, `'"`))
		}
	}
	return words
}

// packet is whether the command sends a magic packet to a broadcast address. One that names where to send it does not.
func packet(spec v2.MinimalPodSpec) bool {
	line := words(spec)
	sends := slices.ContainsFunc(line, func(word string) bool { return slices.Contains(wakers, path.Base(word)) })
	directed := slices.ContainsFunc(line, func(word string) bool { return word == "-i" || word == "--ipaddr" }) && slices.ContainsFunc(line, address)
	return sends && !directed
}

var dotted = regexp.MustCompile(`^[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+$`)

// address is whether a word is an IPv4 address other than the broadcast of the own network.
func address(word string) bool { return dotted.MatchString(word) && word != "255.255.255.255" }

// idle is whether the command visibly does nothing.
func idle(spec v2.MinimalPodSpec) bool {
	line := slices.Concat(spec.Command, spec.Args)
	if len(line) == 0 {
		return false // the image's own
	}
	if shell := path.Base(line[0]); (shell == "sh" || shell == "bash" || shell == "ash") && len(line) > 2 && line[1] == "-c" {
		script := strings.TrimSpace(line[2])
		if separators.MatchString(script) {
			return false
		}
		line = strings.Fields(script)
	}
	return len(line) > 0 && slices.Contains(idlers, path.Base(line[0]))
}

// works is all of a pod spec that decides what its command does.
type works struct {
	image   string
	line    []string
	env     []corev1.EnvVar
	volumes []v2.Volume
}

// switching is what a pod spec does to a machine. Without a command of its own, an image may tell by its environment.
func switching(spec v2.MinimalPodSpec) works {
	return works{spec.Image, slices.Concat(spec.Command, spec.Args), spec.Env, spec.Volumes}
}
