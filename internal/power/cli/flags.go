// Package cli is the command line of the program power: flags and credentials in, one operation, one line and one exit
// code out.
package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/plug"
)

// verbs are what can be asked for.
var verbs = []string{"on", "off", "soft", "cycle", "status", "wait"}

// options are the command line, taken apart.
type options struct {
	verb  string
	until power.State

	ipmi          string
	ipmiSuite     int
	ipmiAdmin     bool
	redfish       string
	redfishSystem string
	wake          string
	broadcast     string
	ssh           string
	sshCommand    string
	fingerprint   string
	knownHosts    string
	http          plug.Options

	credentials    string
	sshCredentials string
	caFile         string
	insecure       bool
	timeout        time.Duration

	limits power.Limits
	ok     []power.Outcome

	output      string
	termination string
	version     bool
}

// usageError is a command line that cannot be.
type usageError struct{ error }

func parse(args []string) (options, error) {
	o := options{limits: power.Default()}
	flags := o.flags()
	var words []string
	for rest := args; ; {
		if err := flags.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return o, err
			}
			return o, usageError{err}
		}
		if flags.NArg() == 0 {
			break
		}
		words, rest = append(words, flags.Arg(0)), flags.Args()[1:]
	}
	if o.version {
		return o, nil
	}
	return o, o.read(words)
}

// read takes the words that are no flags: a verb, and for wait a state.
func (o *options) read(words []string) error {
	if len(words) == 0 || !slices.Contains(verbs, words[0]) {
		return usageError{fmt.Errorf("say what to do: %s", strings.Join(verbs, ", "))}
	}
	o.verb = words[0]
	switch {
	case o.verb == "wait" && len(words) == 2 && (words[1] == "on" || words[1] == "off"):
		o.until = power.State(words[1])
	case o.verb == "wait":
		return usageError{errors.New("say what to wait for: wait on, or wait off")}
	case len(words) > 1:
		return usageError{fmt.Errorf("one operation at a time: %s", strings.Join(words, ", "))}
	}
	switch {
	case o.output != "text" && o.output != "json":
		return usageError{fmt.Errorf("output is text or json, not %q", o.output)}
	case o.timeout <= 0 || o.limits.Poll <= 0:
		return usageError{errors.New("timeout and poll are longer than nothing")}
	case o.limits.Observe < 0 || o.limits.Reach < 0 || o.limits.Presses < 1:
		return usageError{errors.New("observe and reach are not negative, and presses is at least 1")}
	}
	return nil
}

func (o *options) flags() *flag.FlagSet {
	f := flag.NewFlagSet("power", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	f.StringVar(&o.ipmi, "ipmi", "", "BMC that speaks IPMI 2.0: `host[:port]`")
	f.IntVar(&o.ipmiSuite, "ipmi-cipher-suite", 0, "17 or 3 (default: 17, then 3)")
	f.BoolVar(&o.ipmiAdmin, "ipmi-administrator", false, "log in as administrator; operator is enough for most BMCs")
	f.StringVar(&o.redfish, "redfish", "", "BMC that speaks Redfish: `URL` such as https://bmc.lan")
	f.StringVar(&o.redfishSystem, "redfish-system", "", "`id` of the computer system (default: the only one)")
	f.StringVar(&o.wake, "wake-on-lan", "", "`MAC` address of the machine to wake by magic packet")
	f.StringVar(&o.broadcast, "broadcast", "255.255.255.255:9", "`address[:port]` the magic packet is sent to")
	f.StringVar(&o.ssh, "ssh", "", "way down through the operating system: `[user@]host[:port]` (user: root)")
	f.StringVar(&o.sshCommand, "ssh-command", "", "`command` that shuts down (default: systemctl poweroff, with sudo -n unless root)")
	f.StringVar(&o.fingerprint, "ssh-fingerprint", "", "`SHA256:...` of the host key (default: known_hosts)")
	f.StringVar(&o.knownHosts, "ssh-known-hosts", "", "known_hosts `file` (default: known_hosts in the ssh credentials)")
	f.Func("http-on", "request that switches on: a `URL` to GET, or {\"method\",\"url\",\"headers\",\"body\"}", template(&o.http.On))
	f.Func("http-off", "`request` that cuts the power", template(&o.http.Off))
	f.Func("http-soft", "`request` that asks for an orderly shutdown", template(&o.http.Soft))
	f.Func("http-cycle", "`request` that cuts the power and restores it", template(&o.http.Cycle))
	f.Func("http-status", "`request` that reads the state; also {\"jsonPath\",\"pattern\",\"on\",\"off\",\"above\"}", status(&o.http.Status))
	f.StringVar(&o.credentials, "credentials", "",
		"`folder` with the files username, password, token, ca.crt; $POWER_USERNAME, $POWER_PASSWORD and $POWER_TOKEN stand in for it")
	f.StringVar(&o.sshCredentials, "ssh-credentials", "", "`folder` with the files username, ssh-privatekey, password, known_hosts (default: credentials)")
	f.StringVar(&o.caFile, "ca-file", "", "PEM `file` that TLS certificates are verified with (default: ca.crt in the credentials, else the system's)")
	f.BoolVar(&o.insecure, "insecure-skip-tls-verify", false, "accept any TLS certificate")
	f.DurationVar(&o.timeout, "timeout", 10*time.Second, "`time` for one request")
	f.DurationVar(&o.limits.Observe, "observe", o.limits.Observe, "`time` for which the effect is waited for; 0 does not wait")
	f.DurationVar(&o.limits.Reach, "reach", o.limits.Reach, "`time` for which a silent or busy switch is tried")
	f.DurationVar(&o.limits.Poll, "poll", o.limits.Poll, "`time` between two readings")
	f.IntVar(&o.limits.Presses, "presses", o.limits.Presses, "how `often` on and off are sent at most while the effect is not seen")
	f.Func("force-after", "cut the power if soft is not seen to end within this `time` (default: never)", func(text string) error {
		d, err := time.ParseDuration(text)
		if err == nil && d < 0 {
			err = errors.New("is negative")
		}
		o.limits.ForceAfter = &d
		return err
	})
	f.BoolVar(&o.limits.DryRun, "dry-run", false, "read the state and say what would be done")
	f.Func("ok", "further `outcomes` that exit with 0, such as already,unobserved", func(text string) error {
		for _, word := range strings.Split(text, ",") {
			outcome := power.Outcome(strings.TrimSpace(word))
			if _, known := power.ExitCodes[outcome]; !known || outcome == power.Usage || outcome == power.Interrupted {
				return fmt.Errorf("%q is no outcome that could be fine", word)
			}
			o.ok = append(o.ok, outcome)
		}
		return nil
	})
	f.StringVar(&o.output, "o", "text", "output: `text` or json")
	f.StringVar(&o.termination, "termination-log", "", "`file` that the last line is also written to, for Kubernetes")
	f.BoolVar(&o.version, "version", false, "print the version and exit")
	return f
}

// template reads a request: a URL, or JSON.
func template(into **plug.Request) func(string) error {
	return func(text string) error {
		*into = &plug.Request{}
		return decode(text, *into, &(*into).URL)
	}
}

func status(into **plug.Status) func(string) error {
	return func(text string) error {
		*into = &plug.Status{}
		return decode(text, *into, &(*into).URL)
	}
}

func decode(text string, into any, url *string) error {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		*url = text
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if decoder.More() {
		return errors.New("there is more than one JSON object")
	}
	return nil
}
