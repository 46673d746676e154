package observe_test

import (
	"net/http"
	"net/http/httptest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// caKey is the key of a Secret with an authority's certificate.
const caKey = "ca.crt"

// otherProtocols are lives of machines whose switches speak something else than IPMI.
func otherProtocols() map[string]scenario {
	return map[string]scenario{
		"a Redfish service, whose authority is in the Secret, is read and believed": {wiring: bmc.ByRedfish, play: readAndBelieved("redfish")},
		"a plug that measures is read and believed":                                 {wiring: bmc.ByPlug, play: readAndBelieved("http")},
		"a Redfish service whose certificate nobody vouches for is unknown, until somebody does": {wiring: bmc.ByRedfish, play: func(h *home) {
			authority := h.secret.Data[caKey]
			h.keep(func(data map[string][]byte) { delete(data, caKey) })
			h.observe()
			h.untilRead(v2.PowerUnknown, "certificate")
			if n := h.panel.Reads(bmc.Redfish); n > 0 {
				h.T.Errorf("it was asked %d times by whom it could not be sure of", n)
			}
			h.keep(func(data map[string][]byte) { data[caKey] = authority })
			h.untilRead(v2.PowerOff)
		}},
		"a Redfish service whose authority has a Secret of its own is read": {wiring: bmc.ByRedfish, play: func(h *home) {
			const authority = "authority"
			h.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: authority, Namespace: h.Namespace},
				Data: map[string][]byte{caKey: h.secret.Data[caKey]}})
			h.keep(func(data map[string][]byte) { delete(data, caKey) })
			h.declare(func(s *v2.PowerSwitch) {
				s.Redfish.TLS = &v2.SwitchTLS{CASecretRef: &v2.SecretReference{Name: authority}}
			})
			h.observe(h.secret.Name, authority)
			h.untilRead(v2.PowerOff)
		}},
		"a Redfish service that rejects the password is not tried again": {wiring: bmc.ByRedfish, play: rejected},
		"a plug that rejects the password is not tried again":            {wiring: bmc.ByPlug, play: rejected},
		"a Redfish service whose machine is on its way is unknown": {wiring: bmc.ByRedfish, play: func(h *home) {
			url := h.says(`{"PowerState": "PoweringOn"}`)
			h.declare(func(s *v2.PowerSwitch) { s.Redfish.URL, s.Redfish.SystemID = url, "1" })
			h.neverKnown()
		}},
		"a Redfish service that says what no Redfish service says is unknown": {wiring: bmc.ByRedfish, play: func(h *home) {
			url := h.says(`{"PowerState": "Perhaps"}`)
			h.declare(func(s *v2.PowerSwitch) { s.Redfish.URL, s.Redfish.SystemID = url, "1" })
			h.neverKnown("Perhaps")
		}},
		"a plug that answers with what is no number is unknown": {wiring: bmc.ByPlug, play: func(h *home) {
			url := h.says(`{"apower": "plenty"}`)
			h.declare(func(s *v2.PowerSwitch) { s.HTTP.Status.URL = url })
			h.neverKnown("plenty")
		}},
		"a plug that answers with a page is unknown": {wiring: bmc.ByPlug, play: func(h *home) {
			url := h.says("<html>\x00 please log in")
			h.declare(func(s *v2.PowerSwitch) { s.HTTP.Status.URL = url })
			h.neverKnown()
		}},
		"a machine with a magic packet and ssh has no reading, and lives without": {wiring: bmc.ByPackets, play: func(h *home) {
			h.observe()
			h.boot()
			h.TakeBack(claim)
			if slot := h.untilRests(); slot.Status.PowerReading != nil || slot.Status.PowerSource != v2.PowerSourceKubelet {
				h.T.Errorf("off is believed by %s, the reading is %+v", slot.Status.PowerSource, slot.Status.PowerReading)
			}
		}},
	}
}

// readAndBelieved is the life of a machine whose switch tells the truth over that protocol.
func readAndBelieved(protocol string) func(*home) {
	return func(h *home) {
		h.observe()
		h.untilRead(v2.PowerOff)
		h.boot()
		slot := h.untilRead(v2.PowerOn)
		if source := protocol + " " + h.panel.Address(h.spoken); slot.Status.PowerReading.Source != source {
			h.T.Errorf("the source is %q, want %q", slot.Status.PowerReading.Source, source)
		}
		h.TakeBack(claim)
		if slot = h.untilRests(); slot.Status.PowerSource != v2.PowerSourceOutOfBand || slot.Status.PowerState != v2.PowerOff {
			h.T.Errorf("off is believed as %s by %s", slot.Status.PowerState, slot.Status.PowerSource)
		}
	}
}

// rejected is a machine whose switch rejects the password, and may lock the account of who tries again and again.
func rejected(h *home) {
	h.lie(bmc.Lies{RejectPassword: true})
	h.observe()
	h.untilRead(v2.PowerUnknown, "bad credentials")
	h.Await(bmc.PasswordRejected)
	h.Press(machineroom.ActionOn)
	h.stays("a machine of which nothing is known", 6*time.Second, func(s *v2.Node) bool { return s.Status.PowerReading.State == v2.PowerUnknown })
	if n := h.Count(bmc.PasswordRejected); n != 1 {
		h.T.Errorf("the password was tried %d times", n)
	}
}

// neverKnown looks on while the switch says what nobody understands: the machine goes on and off again all the same, by what
// its kubelet says.
func (h *home) neverKnown(words ...string) {
	h.T.Helper()
	h.observe()
	h.untilRead(v2.PowerUnknown, words...)
	h.boot()
	h.TakeBack(claim)
	if slot := h.untilRests(); slot.Status.PowerSource != v2.PowerSourceKubelet || slot.Status.PowerReading.State != v2.PowerUnknown {
		h.T.Errorf("off is believed by %s, the reading is %+v", slot.Status.PowerSource, slot.Status.PowerReading)
	}
}

// says is the address of a service that answers everything with that.
func (h *home) says(text string) string {
	h.T.Helper()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }))
	h.T.Cleanup(service.Close)
	return service.URL
}

// declare changes what the slot says of its switch.
func (h *home) declare(change func(*v2.PowerSwitch)) {
	h.T.Helper()
	slot, err := h.Slot(h.T.Context())
	if err != nil {
		h.T.Fatal(err)
	}
	before := slot.DeepCopy()
	change(slot.Spec.Power)
	if err := h.Client.Patch(h.T.Context(), slot, client.MergeFrom(before)); err != nil {
		h.T.Fatal(err)
	}
}

// keep changes what the Secret of the switch holds.
func (h *home) keep(change func(data map[string][]byte)) {
	h.T.Helper()
	change(h.secret.Data)
	if err := h.Client.Update(h.T.Context(), h.secret); err != nil {
		h.T.Fatal(err)
	}
}
