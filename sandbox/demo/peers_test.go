package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/bmc/openipmi"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// TestTheStoryComesTrueWithOthersTools tells the story with not a line of ours between the Jobs and the machines: the pods
// run ipmitool, as people have it in their slots, against the IPMI simulator of OpenIPMI.
func TestTheStoryComesTrueWithOthersTools(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a control plane for minutes")
	}
	ipmitool, simulator := tool(t, "ipmitool", "ipmitool"), tool(t, "ipmi_sim", "openipmi")
	var told bytes.Buffer
	err := Run(t.Context(), Options{
		UpOptions: UpOptions{Dir: filepath.Join(t.TempDir(), "sandbox"), Progress: t.Output(),
			slot: func(metal *machineroom.Metal, room *machineroom.Room) (*v2.Node, *corev1.Secret, error) {
				slot, secret := simulated(t, metal, ipmitool, openIPMI(t, simulator, room.PowerURL(metal.Name())))
				return slot, secret, nil
			}},
		Replicas: 2, Timeout: 4 * time.Minute, Plain: true, Out: io.MultiWriter(&told, t.Output()),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []machineroom.Kind{machineroom.PowerOnRequested, machineroom.SoftOffRequested} {
		if want := fmt.Sprintf(": %s switch", kind); strings.Count(told.String(), want) != 2 {
			t.Errorf("the power log has %q %d times, want it once a machine", want, strings.Count(told.String(), want))
		}
	}
}

// tool finds a program of somebody else, or skips the test; in CI it must be there.
func tool(t *testing.T, name, from string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("there is no %s here: .ci/run installs Debian's package %s", name, from)
	}
	if err != nil {
		t.Skipf("there is no %s here, which Debian's package %s has", name, from)
	}
	return path
}

// simulated is a machine's slot with ipmitool in its pods, and the Secret with the simulator's password.
func simulated(t *testing.T, metal *machineroom.Metal, ipmitool, port string) (*v2.Node, *corev1.Secret) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: metal.Name() + "-bmc"}, Data: map[string][]byte{"password": []byte("secret")}}
	pod := func(verb string) v2.MinimalPodSpec {
		return v2.MinimalPodSpec{
			Image: "docker.io/gemtest/ipmitool:latest", Command: []string{ipmitool},
			// Without -C 3 it asks first which cipher suites there are, and this simulator does not answer that.
			Args: []string{"-I", "lanplus", "-C", "3", "-H", "127.0.0.1", "-p", port, "-U", "admin", "-E", "chassis", "power", verb},
			Env: []corev1.EnvVar{{Name: "IPMI_PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: secret.Name}, Key: "password"}}}},
		}
	}
	slot := metal.Slot(Namespace, "")
	slot.Spec.StartupPodSpec, slot.Spec.ShutdownPodSpec = pod("on"), pod("soft")
	return &slot, secret
}

// openIPMI starts OpenIPMI's simulator before a machine, until the test ends, and returns its port.
func openIPMI(t *testing.T, simulator, machine string) string {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(conn.LocalAddr().String())
	_ = conn.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	chassis := filepath.Join(folder, "chassis")
	// What the simulator asks is answered by this test binary, as the power command of the machine room.
	script := fmt.Sprintf(`#!/bin/sh
power() { MACHINEROOM_POWER_COMMAND=1 %s "$1" --url %s; }
case "$*" in
  "get power") case "$(power status)" in *"power on"*) echo power:1 ;; *) echo power:0 ;; esac ;;
  "set power 1") power on ;;
  "set power 0") power off ;;
  "set shutdown 1") power soft ;;
  *) exit 1 ;;
esac
`, self, machine)
	if err := os.WriteFile(chassis, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	arguments, err := openipmi.Write(folder, port, chassis)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), simulator, arguments...)
	// Its children die with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Cancel()
		_ = command.Wait()
	})
	return port
}
