package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"slices"
	"time"
)

// The keys of the Secret. The first three are those of every TLS Secret, so that whoever must trust us mounts ca.crt.
const (
	keyTrusted = "ca.crt"
	keyCert    = "tls.crt"
	keyKey     = "tls.key"
	// keyAuthority is the key of the authority that signs now, and keyNext of the one that will.
	keyAuthority = "ca.key"
	keyNext      = "next.key"
)

const (
	// authorityLife is long because whoever trusts an authority may have read it once: cluster-autoscaler does.
	authorityLife = 10 * 365 * 24 * time.Hour
	// servingLife is the life of the certificate that the ports show.
	servingLife = 90 * 24 * time.Hour
	// backdated allows for clocks that are behind ours.
	backdated = time.Hour
)

// The points of a certificate's life, in percent of it.
const (
	// introduceAt is when an authority's successor is made and trusted beside it.
	introduceAt = 80
	// succeedAt is when the successor signs. In between, a year at that, everybody has come to trust both.
	succeedAt = 90
	// renewAt is when the ports get a new certificate.
	renewAt = 66
)

// signed is a certificate and its key.
type signed struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// material is what the Secret holds. What cannot be read of it is not there.
type material struct {
	// trusted are all authorities whose signatures count.
	trusted []*x509.Certificate
	// authority signs, next will; each is among the trusted.
	authority, next *signed
	serving         *signed
}

func readMaterial(data map[string][]byte) material {
	m := material{trusted: certificates(data[keyTrusted])}
	m.authority = match(m.trusted, data[keyAuthority])
	m.next = match(m.trusted, data[keyNext])
	m.serving = match(certificates(data[keyCert]), data[keyKey])
	return m
}

// renew does what is due now, and says what that was. Nothing that is trusted and valid stops being trusted.
func (m *material) renew(now time.Time, names []string) ([]string, error) {
	var done []string
	m.trusted = slices.DeleteFunc(m.trusted, func(c *x509.Certificate) bool { return !now.Before(c.NotAfter) })
	m.authority, m.next = m.authority.unless(now), m.next.unless(now)
	if m.authority != nil && m.next == nil && age(m.authority.cert, now) >= introduceAt {
		next, err := m.introduce(now)
		if err != nil {
			return nil, err
		}
		m.next, done = next, append(done, "a second authority, which signs when the first is old")
	}
	if m.next != nil && (m.authority == nil || age(m.authority.cert, now) >= succeedAt) {
		m.authority, m.next, done = m.next, nil, append(done, "the second authority signs from now on")
	}
	if m.authority == nil {
		first, err := m.introduce(now)
		if err != nil {
			return nil, err
		}
		m.authority, done = first, append(done, "a new authority")
	}
	if why := m.unfit(now, names); why != "" {
		serving, err := m.issue(now, names)
		if err != nil {
			return nil, err
		}
		m.serving, done = serving, append(done, "a new certificate: "+why)
	}
	return done, nil
}

// unless is nil for what has expired, or is nil already.
func (s *signed) unless(now time.Time) *signed {
	if s == nil || !now.Before(s.cert.NotAfter) {
		return nil
	}
	return s
}

// age is how much of its life a certificate has behind it, in percent.
func age(cert *x509.Certificate, now time.Time) int {
	return int(100 * float64(now.Sub(cert.NotBefore)) / float64(cert.NotAfter.Sub(cert.NotBefore)))
}

// unfit says why the ports need another certificate; empty: they do not.
func (m *material) unfit(now time.Time, names []string) string {
	switch {
	case m.serving == nil:
		return "there was none"
	case m.serving.cert.CheckSignatureFrom(m.authority.cert) != nil:
		return "another authority signs"
	case age(m.serving.cert, now) >= renewAt:
		return "the old one ends " + m.serving.cert.NotAfter.UTC().Format(time.RFC3339)
	case !slices.Equal(namesOf(m.serving.cert), sorted(names)):
		return "its names have changed"
	}
	return ""
}

func namesOf(cert *x509.Certificate) []string {
	names := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	return sorted(names)
}

func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

// introduce makes an authority and trusts it.
func (m *material) introduce(now time.Time) (*signed, error) {
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "homelab-autoscaler " + now.UTC().Format(time.DateOnly)},
		NotBefore: now.Add(-backdated), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	made, err := sign(template, nil)
	if err != nil {
		return nil, fmt.Errorf("making an authority: %w", err)
	}
	m.trusted = append(m.trusted, made.cert)
	return made, nil
}

// issue makes a certificate for the ports.
func (m *material) issue(now time.Time, names []string) (*signed, error) {
	end := now.Add(servingLife)
	if last := m.authority.cert.NotAfter; last.Before(end) {
		end = last
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "homelab-autoscaler"},
		NotBefore: now.Add(-backdated), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range sorted(names) {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	made, err := sign(template, m.authority)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	return made, nil
}

// sign makes a key and has its certificate signed, by itself where there is nobody else.
func sign(template *x509.Certificate, by *signed) (*signed, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, err
	}
	if by == nil {
		by = &signed{cert: template, key: key}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by.cert, key.Public(), by.key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &signed{cert, key}, nil
}

// data is the material as the Secret holds it.
func (m *material) data() (map[string][]byte, error) {
	data := map[string][]byte{keyTrusted: inPEM(m.trusted...), keyCert: inPEM(m.serving.cert)}
	for name, of := range map[string]*signed{keyAuthority: m.authority, keyNext: m.next, keyKey: m.serving} {
		if of == nil {
			continue
		}
		der, err := x509.MarshalPKCS8PrivateKey(of.key)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", name, err)
		}
		data[name] = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	}
	return data, nil
}

func inPEM(certs ...*x509.Certificate) []byte {
	var text bytes.Buffer
	for _, cert := range certs {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}) // a buffer takes everything
	}
	return text.Bytes()
}

// certificates are those in a PEM text that can be read.
func certificates(text []byte) []*x509.Certificate {
	var found []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			found = append(found, cert)
		}
	}
	return found
}

// match finds the certificate that a key in PEM belongs to; nil: the key cannot be read, or belongs to none.
func match(certs []*x509.Certificate, text []byte) *signed {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil
	}
	for _, cert := range certs {
		if key.PublicKey.Equal(cert.PublicKey) {
			return &signed{cert, key}
		}
	}
	return nil
}
