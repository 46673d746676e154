package certs

import (
	"crypto/x509"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	first = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	names = []string{"hook.home.svc", "127.0.0.1"}
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// life renews one Secret over a time, as the replicas do together.
type life struct {
	t    *testing.T
	data map[string][]byte
	// last are the authorities that a caller knew at the last step, who may have read them only then.
	last []*x509.Certificate
}

// at renews once and answers what was done.
func (l *life) at(since time.Duration, names []string) string {
	l.t.Helper()
	now := first.Add(since)
	m := readMaterial(l.data)
	done, err := m.renew(now, names)
	if err != nil {
		l.t.Fatal(err)
	}
	if l.data, err = m.data(); err != nil {
		l.t.Fatal(err)
	}
	if len(l.last) > 0 {
		l.verify(m.serving.cert, l.last, now, names)
	}
	l.last = m.trusted
	l.verify(m.serving.cert, m.trusted, now, names)
	return strings.Join(done, "; ")
}

func (l *life) verify(cert *x509.Certificate, trusted []*x509.Certificate, now time.Time, names []string) {
	l.t.Helper()
	roots := x509.NewCertPool()
	for _, authority := range trusted {
		roots.AddCert(authority)
	}
	for _, name := range names {
		if _, err := cert.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: now}); err != nil {
			l.t.Errorf("%s after the first: %v", now.Sub(first), err)
		}
	}
}

func TestTwentyYearsOfACertificateAreNeverUntrusted(t *testing.T) {
	l := life{t: t}
	var story []string
	for since := time.Duration(0); since < 20*year; since += 5 * day {
		if done := l.at(since, names); done != "" && !strings.HasPrefix(done, "a new certificate: the old one ends") {
			story = append(story, done)
		}
	}
	// The third authority is made at 80 percent of the second's life, which began with the eighth year.
	want := []string{
		"a new authority; a new certificate: there was none",
		"a second authority, which signs when the first is old",
		"the second authority signs from now on; a new certificate: another authority signs",
		"a second authority, which signs when the first is old",
		"the second authority signs from now on; a new certificate: another authority signs",
	}
	if diff := cmp.Diff(want, story); diff != "" {
		t.Error(diff)
	}
}

func TestACertificateIsRenewedAfterTwoThirdsOfItsLife(t *testing.T) {
	l := life{t: t}
	l.at(0, names)
	if done := l.at(59*day, names); done != "" {
		t.Errorf("after 59 days: %s", done)
	}
	if done := l.at(60*day, names); done != "a new certificate: the old one ends 2026-06-02T12:00:00Z" {
		t.Errorf("after 60 days: %q", done)
	}
}

func TestWhatIsMissingOrBrokenIsMadeAgain(t *testing.T) {
	const another, none, signs = "a new authority; a new certificate: another authority signs", "a new certificate: there was none", "the second authority signs from now on; a new certificate: another authority signs"
	old := life{t: t}
	old.at(0, names)
	old.at(8*year+day, names)
	for name, test := range map[string]struct {
		spoil func(map[string][]byte)
		since time.Duration
		want  string
	}{
		"nothing is missing":      {func(map[string][]byte) {}, day, ""},
		"no certificate":          {func(d map[string][]byte) { d[keyCert] = nil }, day, none},
		"half a certificate":      {func(d map[string][]byte) { d[keyCert] = d[keyCert][:100] }, day, none},
		"no key":                  {func(d map[string][]byte) { delete(d, keyKey) }, day, none},
		"another's key":           {func(d map[string][]byte) { d[keyKey] = d[keyAuthority] }, day, none},
		"no key of the authority": {func(d map[string][]byte) { delete(d, keyAuthority) }, day, another},
		"no authority":            {func(d map[string][]byte) { delete(d, keyTrusted) }, day, another},
		"everything is long past": {func(map[string][]byte) {}, 30 * year, another},
		"the second is there, the first's key is not": {func(d map[string][]byte) {
			for key, value := range old.data {
				d[key] = value
			}
			delete(d, keyAuthority)
		}, 8*year + 2*day, signs},
	} {
		t.Run(name, func(t *testing.T) {
			l := life{t: t}
			l.at(0, names)
			test.spoil(l.data)
			l.last = nil
			if diff := cmp.Diff(test.want, l.at(test.since, names)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNewNamesWantANewCertificate(t *testing.T) {
	l := life{t: t}
	l.at(0, names)
	reordered := slices.Clone(names)
	slices.Reverse(reordered)
	if done := l.at(day, append(reordered, reordered[0])); done != "" {
		t.Errorf("the same names in another order: %s", done)
	}
	l.last = nil
	if done := l.at(day, []string{"other.home.svc"}); done != "a new certificate: its names have changed" {
		t.Errorf("other names: %q", done)
	}
}
