// Package web sends single HTTP requests to power switches and tells their failures apart. It follows no redirect, uses no
// proxy, verifies TLS unless told otherwise, and bounds what it reads.
package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"homecluster.dev/autoscaler/internal/power"
)

// maxAnswer bounds how much of an answer is read: a whole Redfish system fits many times.
const maxAnswer = 1 << 20

// Options say how a switch is talked to.
type Options struct {
	// Timeout bounds one request, answer included.
	Timeout time.Duration
	// CA is a PEM bundle that certificates are verified with instead of the system's; empty: the system's.
	CA []byte
	// Insecure accepts any certificate.
	Insecure bool
	// Secrets are never shown in an error, even if the switch says them back: a redirect, for one, repeats the URL.
	Secrets []string
}

// Client sends requests.
type Client struct {
	http    *http.Client
	timeout time.Duration
	clean   func(string) string
	// digests is whether the switch wanted a digest: then it is not shown the password again.
	digests bool
}

// New makes a client. Its error is about the CA.
func New(o Options) (*Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.Insecure}
	if len(o.CA) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(o.CA) {
			return nil, fmt.Errorf("%w: the CA holds no PEM certificate", power.ErrUntrusted)
		}
	}
	return &Client{timeout: o.Timeout, clean: Cleaner(o.Secrets...), http: &http.Client{
		Transport:     &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Request is one request. Name stands for the URL in errors, since a URL may carry a password.
type Request struct {
	Method, URL, Name string
	// Presses is whether it does something, whatever its method: many plugs are worked by GET.
	Presses            bool
	Header             map[string]string
	Body               string
	Username, Password string
}

// Answer is what the switch said with a status of success.
type Answer struct {
	Status int
	Body   []byte
}

// Do sends the request once. Its error is a fault of package power. A request that presses, or has another method than GET,
// and was written and not answered is power.ErrUnanswered: it may have happened. One that is turned away for want of a digest
// is sent again with one.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var written atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { written.Store(true) },
	})
	came, err := c.send(ctx, r, "")
	if answer := came.digest(r); answer != "" {
		c.digests = true
		written.Store(false) // what was turned away was not done
		came, err = c.send(ctx, r, answer)
	}
	acts := r.Presses || r.Method != http.MethodGet
	name := c.Clean(r.Method + " " + r.Name)
	if came.header == nil {
		return Answer{}, fmt.Errorf("%s: %w", name, c.fault(err, acts, written.Load()))
	}
	if verdict := c.statusFault(came, acts); verdict != nil {
		return Answer{Status: came.code, Body: came.body}, fmt.Errorf("%s: %w", name, verdict)
	}
	if err != nil && !acts { // what was done is done, however its answer ends
		return Answer{}, fmt.Errorf("%s: %w: %s", name, power.ErrGarbled, c.Clean(err.Error()))
	}
	return Answer{Status: came.code, Body: came.body}, nil
}

// reply is what came back; without a header it is nothing. A status is whatever was said, 0 too.
type reply struct {
	code   int
	status string
	header http.Header
	body   []byte
}

// send sends it once, and reads what comes back. With a reply, an error is about its body.
func (c *Client) send(ctx context.Context, r Request, authorization string) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, strings.NewReader(r.Body))
	if err != nil {
		return reply{}, fmt.Errorf("%w: it is no request that can be sent", power.ErrUnsupported)
	}
	for name, value := range r.Header {
		request.Header.Set(name, value)
	}
	switch {
	case authorization != "":
		request.Header.Set("Authorization", authorization)
	case !c.digests && (r.Username != "" || r.Password != ""):
		request.SetBasicAuth(r.Username, r.Password)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return reply{}, bare(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if len(body) > maxAnswer {
		err = fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
	}
	return reply{response.StatusCode, response.Status, response.Header, body}, err
}

// bare is the error without the URL, in which net/http puts what should not be printed.
func bare(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// fault says what an error of the transport means.
func (c *Client) fault(err error, acts, written bool) error {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	class := power.ErrUnreachable
	switch {
	case errors.Is(err, power.ErrUnsupported):
		return err
	case unverified:
		class = power.ErrUntrusted
	case written && acts:
		class = power.ErrUnanswered
	case written && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, io.EOF) && !timeout(err):
		class = power.ErrGarbled
	}
	return fmt.Errorf("%w: %s", class, c.Clean(err.Error()))
}

func timeout(err error) bool {
	waited, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && waited.Timeout()
}

// statusFault says what a status means; nil is success. A gateway that had no answer does not know what became of what it
// handed on.
func (c *Client) statusFault(came reply, acts bool) error {
	var class error
	switch status := came.code; {
	case status >= 200 && status < 300:
		return nil
	case status >= 300 && status < 400:
		return fmt.Errorf("%w: it redirects to %s, which is not followed: use that address", power.ErrRefused,
			c.Clean(came.header.Get("Location")))
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		class = power.ErrCredentials
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		class = power.ErrBusy
	case status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		class = power.ErrUnreachable
		if acts {
			class = power.ErrUnanswered
		}
	default:
		class = power.ErrRefused
	}
	if said := c.Clean(string(bytes.ToValidUTF8(came.body, nil))); said != "" {
		return fmt.Errorf("%w: %s: %s", class, c.Clean(came.status), said)
	}
	return fmt.Errorf("%w: %s", class, c.Clean(came.status))
}
