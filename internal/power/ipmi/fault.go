package ipmi

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/types"

	"homecluster.dev/autoscaler/internal/power"
)

// errNoSuite is a BMC that does not have the cipher suite that was proposed.
var errNoSuite = fmt.Errorf("%w: it has no cipher suite that is spoken here", power.ErrRefused)

// statuses are what the status codes of a session's packets mean.
var statuses = map[types.RmcpStatusCode]error{
	types.RmcpStatusCodeNoResToCreateSess:          power.ErrBusy,
	types.RmcpStatusCodeNoResToCreateSessAtRole:    power.ErrBusy,
	types.RmcpStatusCodeInvalidSessionID:           power.ErrBusy, // the session was taken away from us
	types.RmcpStatusCodeInactiveSessionID:          power.ErrBusy,
	types.RmcpStatusCodeUnauthorizedName:           power.ErrCredentials,
	types.RmcpStatusCodeUnauthorizedRoleOfPriLevel: power.ErrCredentials,
	types.RmcpStatusCodeInvalidRole:                power.ErrCredentials,
	types.RmcpStatusCodeInvalidNameLength:          power.ErrCredentials,
	types.RmcpStatusCodeUnauthorizedGUID:           power.ErrCredentials,
	types.RmcpStatusCodeInvalidIntegrityCheckValue: power.ErrCredentials,
	types.RmcpStatusCodeNoCipherSuiteMatch:         errNoSuite,
	types.RmcpStatusCodeInvalidAuthAlg:             errNoSuite,
	types.RmcpStatusCodeInvalidIntegrityAlg:        errNoSuite,
	types.RmcpStatusCodeInvalidConfidentAlg:        errNoSuite,
	types.RmcpStatusCodeNoMatchingAuthPayload:      errNoSuite,
	types.RmcpStatusCodeNoMatchingIntegrityPayload: errNoSuite,
}

// completions are what completion codes mean; every other one is a refusal.
var completions = map[types.CompletionCode]error{
	types.CodeNodeBusy:                            power.ErrBusy,
	types.CodeProcessTimeout:                      power.ErrBusy,
	types.CodeOutOfSpace:                          power.ErrBusy,
	types.CodeCannotProvideResponse:               power.ErrBusy,
	types.CodeCannotProvideResponseFirmwareUpdate: power.ErrBusy,
	types.CodeCannotProvideResponseBMCInitialize:  power.ErrBusy,
	types.CodeInsufficientPrivilege:               power.ErrCredentials,
	types.CodeInvalidCommand:                      power.ErrUnsupported,
	types.CodeRequestDataFieldInvalid:             power.ErrUnsupported,
}

// fault says in few words what an error of the library means. One that it has no type for is a silence unless something
// came back.
func (c *session) fault(err error) error {
	if errors.Is(err, client.ErrRAKPAuthentication) {
		return fmt.Errorf("%w: the user name or the password is wrong", power.ErrCredentials)
	}
	if status, ok := errors.AsType[*types.RmcpStatusError](err); ok {
		return named(statuses[status.StatusCode()], status.StatusCode().String())
	}
	if response, ok := errors.AsType[*types.ResponseError](err); ok {
		return named(completions[response.CompletionCode()], said(err))
	}
	if c.heard.Load() {
		return fmt.Errorf("%w: what came back was no answer to what was sent", power.ErrGarbled)
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return fmt.Errorf("%w: %w", power.ErrUnreachable, number)
	}
	if lookup, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Errorf("%w: %w", power.ErrUnreachable, lookup)
	}
	return fmt.Errorf("%w: no answer", power.ErrUnreachable)
}

// unfinished is whether a BMC answers that it has no answer: the command may have been carried out all the same.
func unfinished(err error) bool {
	response, ok := errors.AsType[*types.ResponseError](err)
	return ok && (response.CompletionCode() == types.CodeProcessTimeout || response.CompletionCode() == types.CodeCannotProvideResponse)
}

// said is the completion code of an answer.
func said(err error) string {
	response, ok := errors.AsType[*types.ResponseError](err)
	if !ok {
		return ""
	}
	return fmt.Sprintf("it answers with code %#02x (%s)", uint8(response.CompletionCode()), response.CompletionCode())
}

func named(class error, said string) error {
	if class == nil {
		class = power.ErrRefused
	}
	return fmt.Errorf("%w: %s", class, said)
}
