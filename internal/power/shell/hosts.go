package shell

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"homecluster.dev/autoscaler/internal/power"
)

// hosts is what the machine is known by: a known_hosts file, the fingerprint of one key, or either.
type hosts struct {
	file        ssh.HostKeyCallback
	fingerprint string
}

func readHosts(file, fingerprint string) (hosts, error) {
	h := hosts{fingerprint: fingerprint}
	switch {
	case file == "" && fingerprint == "":
		return h, fmt.Errorf("%w: neither known_hosts nor a fingerprint says by which key the machine is known", power.ErrCredentials)
	case fingerprint != "" && !strings.HasPrefix(fingerprint, "SHA256:"):
		return h, fmt.Errorf("%w: the fingerprint %q does not begin with SHA256: (ssh-keyscan HOST | ssh-keygen -lf - shows it)",
			power.ErrCredentials, fingerprint)
	case file == "":
		return h, nil
	}
	var err error
	if h.file, err = knownhosts.New(file); err != nil {
		return h, fmt.Errorf("%w: reading known_hosts: %w", power.ErrCredentials, err)
	}
	return h, nil
}

// errStranger is a machine that shows another key than the one it is known by. It may have that one too.
var errStranger = fmt.Errorf("%w", power.ErrCredentials)

// check is an ssh.HostKeyCallback. Its error is errStranger.
func (h hosts) check(address string, remote net.Addr, key ssh.PublicKey) error {
	shown := ssh.FingerprintSHA256(key)
	if h.fingerprint != "" && subtle.ConstantTimeCompare([]byte(h.fingerprint), []byte(shown)) == 1 {
		return nil
	}
	if h.file == nil {
		return fmt.Errorf("%w: %s shows the host key %s, not %s", errStranger, address, shown, h.fingerprint)
	}
	if err := h.file(address, remote, key); err != nil {
		return fmt.Errorf("%w: %s shows the host key %s: %w", errStranger, address, shown, err)
	}
	return nil
}

// kinds are lists of algorithms, to be asked for in turn until the machine shows a key that it is known by: a machine has
// keys of several kinds and shows one. A nil list leaves the choice to it.
func (h hosts) kinds(address string) [][]string {
	var lists [][]string
	if h.file != nil {
		lists = append(lists, h.algorithms(address))
	}
	if h.fingerprint != "" {
		lists = append(lists, []string{ssh.KeyAlgoED25519}, []string{ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521}, overRSA)
	}
	return lists
}

// overRSA are the algorithms of an RSA key that are not broken.
var overRSA = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}

// algorithms are those of the machine's keys in the file; nil if it has none of this machine.
func (h hosts) algorithms(address string) []string {
	known, differs := errors.AsType[*knownhosts.KeyError](h.file(address, &net.TCPAddr{}, nobody{}))
	if !differs {
		return nil
	}
	var names []string
	for _, want := range known.Want {
		if kind := want.Key.Type(); kind == ssh.KeyAlgoRSA {
			names = append(names, overRSA...)
		} else {
			names = append(names, kind)
		}
	}
	return names
}

// nobody is a key that is in no file: showing it makes the file say which keys it has.
type nobody struct{}

func (nobody) Type() string                        { return "nobody" }
func (nobody) Marshal() []byte                     { return nil }
func (nobody) Verify([]byte, *ssh.Signature) error { return errors.New("nobody signs nothing") }
