package apitest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// filler sets every leaf of a value to something other than zero, different each time where that is possible, and valid:
// enums by their type, and the few strings with a syntax by the name of their field.
type filler struct {
	n int
	// power is the switch of a slot: it has one of several.
	power *v2.PowerSwitch
}

// valid are the values of types that take only some.
var valid = map[reflect.Type]any{
	reflect.TypeFor[v2.Engine]():                 v2.EngineNone,
	reflect.TypeFor[v2.UnclaimedPolicy]():        v2.UnclaimedAdopt,
	reflect.TypeFor[v2.SlotPhase]():              v2.SlotDraining,
	reflect.TypeFor[v2.PowerState]():             v2.PowerUnknown,
	reflect.TypeFor[v2.PowerSource]():            v2.PowerSourceAssumed,
	reflect.TypeFor[v2.Health]():                 v2.HealthUnknown,
	reflect.TypeFor[v2.ClaimPhase]():             v2.ClaimBooting,
	reflect.TypeFor[v2.Call]():                   v2.CallDeleteNodes,
	reflect.TypeFor[v2.Operation]():              v2.OperationShutdown,
	reflect.TypeFor[v2.JobOutcome]():             v2.JobNeverStarted,
	reflect.TypeFor[corev1.TaintEffect]():        corev1.TaintEffectNoExecute,
	reflect.TypeFor[corev1.TolerationOperator](): corev1.TolerationOpEqual,
	reflect.TypeFor[corev1.PullPolicy]():         corev1.PullNever,
	reflect.TypeFor[metav1.ConditionStatus]():    metav1.ConditionTrue,
	reflect.TypeFor[resource.Quantity]():         resource.MustParse("3"),
	reflect.TypeFor[intstr.IntOrString]():        intstr.FromInt32(7),
}

// syntax are the values of string fields that take only some, by the field's name.
var syntax = map[string]string{
	"ScaleDownUtilizationThreshold":    "0.25",
	"ScaleDownGpuUtilizationThreshold": "0.75",
	"HourlyRate":                       "0.05",
	"PodRate":                          "0.001",
	"MountPath":                        "/secrets",
}

func (f *filler) fill(v reflect.Value, field string) {
	f.n++
	if value, ok := valid[v.Type()]; ok {
		v.Set(reflect.ValueOf(value))
		return
	}
	switch value := v.Addr().Interface().(type) {
	case *metav1.Time: // later ones are later, as a deadline must be
		*value = metav1.NewTime(time.Date(2026, 3, 4, 9, 38, 15+f.n, 0, time.UTC).Local())
		return
	case *metav1.Duration:
		value.Duration = time.Duration(f.n) * time.Second
		return
	case **v2.PowerSwitch:
		*value = f.power
		return
	case *[]v2.Volume: // one of each kind, since a volume is either
		*value = []v2.Volume{
			{Name: "key", MountPath: "/key", SecretName: "key", ReadOnly: true},
			{Name: "hosts", MountPath: "/hosts", ConfigMapName: "hosts", ReadOnly: true},
		}
		return
	}
	if whole, ok := v.Addr().Interface().(*[]corev1.EnvVar); ok {
		*whole = environment()
		return
	}
	if whole, ok := v.Addr().Interface().(*[]corev1.EnvFromSource); ok {
		*whole = []corev1.EnvFromSource{
			{Prefix: "A_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "a"}, Optional: new(true)}},
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "a"}, Optional: new(true)}},
		}
		return
	}
	f.fillKind(v, field)
}

// environment has a variable of each source, since a variable has one.
func environment() []corev1.EnvVar {
	a := corev1.LocalObjectReference{Name: "a"}
	return []corev1.EnvVar{
		{Name: "VALUE", Value: "value"},
		{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: a, Key: "k", Optional: new(true)}}},
		{Name: "CONFIG", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: a, Key: "k", Optional: new(true)}}},
		{Name: "FIELD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}},
		{Name: "RESOURCE", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{
			ContainerName: "power", Resource: "limits.cpu", Divisor: resource.MustParse("1m"),
		}}},
		{Name: "FILE", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{VolumeName: "v", Path: "p", Key: "k", Optional: new(true)}}},
	}
}

// switches say together everything that can be said of a switch.
func switches() map[string]*v2.PowerSwitch {
	secret := v2.SecretReference{Name: "secret"}
	request := v2.HTTPRequest{Method: "POST", URL: "http://plug.lan/relay", Headers: map[string]string{"X-Key": "${token}"}, Body: "{}"}
	ssh := &v2.SSHSwitch{Address: "full.lan", Port: 2222, User: "poweroff", CredentialsSecretRef: secret,
		HostKeyFingerprint: "SHA256:3ZLEYFaBZNSQvTCkxbqYsDDBWDzWlMx5VKWjvYEGqhQ", Command: "poweroff"}
	return map[string]*v2.PowerSwitch{
		"ipmi": {
			IPMI: &v2.IPMISwitch{Address: "bmc.lan", Port: 6230, CredentialsSecretRef: secret, PrivilegeLevel: v2.PrivilegeAdministrator, CipherSuite: 3},
			SSH:  ssh, ForceAfter: &metav1.Duration{Duration: time.Minute}, NodeSelector: map[string]string{"room": "cellar"},
		},
		"redfish": {Redfish: &v2.RedfishSwitch{URL: "https://bmc.lan", SystemID: "1", CredentialsSecretRef: secret, TLS: &v2.SwitchTLS{CASecretRef: &secret}}},
		"an unverified redfish": {Redfish: &v2.RedfishSwitch{URL: "https://bmc.lan", SystemID: "1", CredentialsSecretRef: secret,
			TLS: &v2.SwitchTLS{InsecureSkipVerify: true}}},
		"a magic packet": {WakeOnLAN: &v2.WakeOnLANSwitch{MACAddress: "52:54:00:12:34:56", Broadcast: "192.168.1.255", Port: 7}},
		"http, and an answer in JSON": {HTTP: &v2.HTTPSwitch{PowerOn: &request, PowerOff: &request, SoftOff: &request, CredentialsSecretRef: &secret,
			Status: &v2.HTTPStatus{HTTPRequest: request, JSONPath: "ison", OnValue: "yes", OffValue: "no"}, TLS: &v2.SwitchTLS{CASecretRef: &secret}}},
		"http, and a number": {HTTP: &v2.HTTPSwitch{PowerOn: &request, PowerOff: &request, SoftOff: &request, CredentialsSecretRef: &secret,
			Status: &v2.HTTPStatus{HTTPRequest: request, Pattern: "[0-9]+", OnAbove: "10"}, TLS: &v2.SwitchTLS{InsecureSkipVerify: true}}},
	}
}

func TestTheSwitchesTogetherLeaveNothingOut(t *testing.T) {
	missing, in := map[string]int{}, switches()
	var zero [][]string
	for _, power := range in {
		zero = append(zero, zeroLeaves(reflect.ValueOf(power).Elem(), "power"))
	}
	for _, paths := range zero {
		for _, path := range paths {
			missing[path] = 0
		}
	}
	for path := range missing {
		for _, paths := range zero {
			if slices.ContainsFunc(paths, func(left string) bool { return left == path || strings.HasPrefix(path, left+".") }) {
				missing[path]++
			}
		}
		if missing[path] == len(in) {
			t.Errorf("no switch says %s", path)
		}
	}
}

func (f *filler) fillKind(v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), field)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0), field)
		f.fill(v.Index(1), field)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key, field)
		f.fill(value, field)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		text, ok := syntax[field]
		if !ok {
			text = fmt.Sprintf("x%d", f.n)
		}
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.n))
	default:
		panic(fmt.Sprintf("the filler has no value for %s %s", field, v.Type()))
	}
}

// zeroLeaves lists the leaves that a value has left at zero. It knows nothing of the filler, which it judges.
func zeroLeaves(v reflect.Value, path string) []string {
	switch v.Kind() {
	case reflect.Struct:
		if v.CanInterface() {
			switch v.Interface().(type) {
			case metav1.Time, resource.Quantity, intstr.IntOrString:
				return zeroLeaf(v, path)
			case corev1.EnvVar, corev1.EnvFromSource: // either this or that
				return zeroLeaf(v, path)
			}
		}
		var zero []string
		for i := range v.NumField() {
			field := v.Type().Field(i).Name
			if _, ok := v.Interface().(v2.NodeSpec); ok && field == "Power" {
				zero = append(zero, zeroLeaf(v.Field(i), path+".Power")...)
				continue // one of several: the switches have a test of their own
			}
			if _, ok := v.Interface().(v2.Volume); ok && (field == "SecretName" || field == "ConfigMapName") {
				continue // a volume has one of the two
			}
			zero = append(zero, zeroLeaves(v.Field(i), path+"."+field)...)
		}
		return zero
	case reflect.Pointer:
		if v.IsNil() {
			return []string{path}
		}
		return zeroLeaves(v.Elem(), path)
	case reflect.Slice:
		if v.Len() == 0 {
			return []string{path}
		}
		var zero []string
		for i := range v.Len() {
			zero = append(zero, zeroLeaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
		return zero
	case reflect.Map:
		if v.Len() == 0 {
			return []string{path}
		}
		return nil
	}
	return zeroLeaf(v, path)
}

func zeroLeaf(v reflect.Value, path string) []string {
	if v.IsZero() {
		return []string{path}
	}
	return nil
}

func TestTheFillerLeavesNothingOut(t *testing.T) {
	for _, object := range []any{&v2.GroupSpec{}, &v2.GroupStatus{}, &v2.NodeSpec{}, &v2.NodeStatus{}, &v2.NodeClaimSpec{}, &v2.NodeClaimStatus{}} {
		v := reflect.ValueOf(object).Elem()
		if before := zeroLeaves(v, v.Type().Name()); len(before) == 0 {
			t.Errorf("%s: an empty value must have leaves at zero", v.Type())
		}
		(&filler{power: switches()["ipmi"]}).fill(v, "")
		for _, path := range zeroLeaves(v, v.Type().Name()) {
			t.Errorf("%s was left at zero", path)
		}
	}
}
