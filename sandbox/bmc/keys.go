package bmc

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// keys are what the protocols of a panel need to prove who they are.
type keys struct {
	host        string
	certificate tls.Certificate
	sshHost     ssh.Signer
	sshClient   ssh.PublicKey
}

// makeUp is a password that ipmitool can be given: IPMI knows sixteen bytes, or twenty.
func makeUp() string { return rand.Text()[:16] }

// macOf is a hardware address that no card has, the same for the same machine every time.
func macOf(machine string) net.HardwareAddr {
	sum := sha256.Sum256([]byte(machine))
	// Locally administered, and not a multicast.
	return append(net.HardwareAddr{0x02}, sum[:5]...)
}

// quiet drops what a server says about clients that left.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// makeKeys makes the panel's folder with its keys and certificates.
func (p *Panel) makeKeys(dir, host string) (k keys, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return k, fmt.Errorf("making a folder for keys: %w", err)
	}
	p.CA, p.KnownHosts, p.ClientKey = filepath.Join(dir, "ca.crt"), filepath.Join(dir, "known_hosts"), filepath.Join(dir, "id_ed25519")
	k.host = host
	if k.certificate, err = certify(host, p.CA); err != nil {
		return k, fmt.Errorf("making the certificate: %w", err)
	}
	if k.sshHost, _, err = sshKey(); err != nil {
		return k, fmt.Errorf("making the host key: %w", err)
	}
	client, text, err := sshKey()
	if err != nil {
		return k, fmt.Errorf("making the client's key: %w", err)
	}
	k.sshClient = client.PublicKey()
	if err := os.WriteFile(p.ClientKey, text, 0o600); err != nil {
		return k, fmt.Errorf("keeping the client's key: %w", err)
	}
	return k, nil
}

// certify makes a certificate for the host, which is its own authority, and keeps it.
func certify(host, file string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "machine room " + host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.ParseIP(host)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, os.WriteFile(file, text, 0o600)
}

// sshKey makes a key, and its text as ssh keeps it.
func sshKey() (ssh.Signer, []byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return nil, nil, err
	}
	signer, err := ssh.NewSignerFromKey(key)
	return signer, pem.EncodeToMemory(block), err
}

// trust keeps the SSH server's host key as ssh does.
func (p *Panel) trust(address string, key ssh.PublicKey) error {
	line := knownhosts.Line([]string{knownhosts.Normalize(address)}, key) + "\n"
	if err := os.WriteFile(p.KnownHosts, []byte(line), 0o600); err != nil {
		return fmt.Errorf("keeping the host key: %w", err)
	}
	return nil
}
