package controlplane

import (
	"fmt"
	"strings"
)

// The four components, by the names that the binary and Options.ExtraArgs know them by.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
)

// controllers are the ones that this project meets. The others would cost memory and start-up, and some of them need a
// cloud, volumes or a certificate authority on disk.
var controllers = []string{
	"daemonset-controller", // its pods are what a drain must leave alone
	"deployment-controller",
	"replicaset-controller",
	"statefulset-controller",
	"job-controller",
	"ttl-after-finished-controller",
	"disruption-controller", // budgets that an eviction must respect
	"node-lifecycle-controller",
	"taint-eviction-controller",
	"pod-garbage-collector-controller", // force-deletes the pods of a removed kubeNode
	"garbage-collector-controller",
	"namespace-controller",
	"serviceaccount-controller",
	"serviceaccount-token-controller",
	"root-ca-certificate-publisher-controller",
	"endpointslice-controller",
	"clusterrole-aggregation-controller",
	"validatingadmissionpolicy-status-controller",
}

// The loopback interface, and the range of addresses that Services get: nothing routes to them.
const (
	loopback     = "127.0.0.1"
	serviceRange = "10.96.0.0/16"
)

func url(port int) string { return fmt.Sprintf("https://%s:%d", loopback, port) }

// etcdArgs: fsync is off, because the data live as long as the process; its peers and clients show certificates, because
// other people may have accounts on this machine.
func (cp *ControlPlane) etcdArgs() []string {
	client, peer := url(cp.ports.etcd), url(cp.ports.etcdPeer)
	return []string{
		"--name=sandbox", "--data-dir=" + cp.path("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=sandbox=" + peer,
		"--client-cert-auth", "--trusted-ca-file=" + cp.path(caFile),
		"--cert-file=" + cp.path(servingCert), "--key-file=" + cp.path(servingKey),
		"--peer-client-cert-auth", "--peer-trusted-ca-file=" + cp.path(caFile),
		"--peer-cert-file=" + cp.path(servingCert), "--peer-key-file=" + cp.path(servingKey),
		"--log-level=warn",
	}
}

func (cp *ControlPlane) apiServerArgs() []string {
	return []string{
		"--etcd-servers=" + url(cp.ports.etcd), "--etcd-cafile=" + cp.path(caFile),
		"--etcd-certfile=" + cp.path(servingCert), "--etcd-keyfile=" + cp.path(servingKey),
		"--bind-address=" + loopback, "--advertise-address=" + loopback, fmt.Sprintf("--secure-port=%d", cp.ports.api),
		"--endpoint-reconciler-type=none", // a loopback address is no valid endpoint of the kubernetes Service
		"--tls-cert-file=" + cp.path(servingCert), "--tls-private-key-file=" + cp.path(servingKey),
		"--client-ca-file=" + cp.path(caFile), "--authorization-mode=Node,RBAC",
		"--kubelet-client-certificate=" + cp.path(kubeletClientCert), "--kubelet-client-key=" + cp.path(kubeletClientKey),
		"--kubelet-preferred-address-types=InternalIP,Hostname",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + cp.path(serviceAccountPublic),
		"--service-account-signing-key-file=" + cp.path(serviceAccountKey),
		"--service-cluster-ip-range=" + serviceRange, "--allow-privileged",
		"--profiling=false",
	}
}

func (cp *ControlPlane) controllerManagerArgs(o Options) []string {
	return []string{
		"--kubeconfig=" + cp.path(ControllerManager+".kubeconfig"), "--leader-elect=false",
		"--bind-address=" + loopback, fmt.Sprintf("--secure-port=%d", cp.ports.controllerManager),
		"--tls-cert-file=" + cp.path(servingCert), "--tls-private-key-file=" + cp.path(servingKey),
		"--controllers=" + strings.Join(o.Controllers, ","), "--use-service-account-credentials",
		"--service-account-private-key-file=" + cp.path(serviceAccountKey), "--root-ca-file=" + cp.path(caFile),
		"--allocate-node-cidrs=false", "--profiling=false",
		fmt.Sprintf("--node-monitor-period=%s", o.NodeMonitorPeriod),
		fmt.Sprintf("--node-monitor-grace-period=%s", o.NodeMonitorGrace),
	}
}

func (cp *ControlPlane) schedulerArgs() []string {
	return []string{
		"--kubeconfig=" + cp.path(Scheduler+".kubeconfig"), "--leader-elect=false",
		"--bind-address=" + loopback, fmt.Sprintf("--secure-port=%d", cp.ports.scheduler),
		"--tls-cert-file=" + cp.path(servingCert), "--tls-private-key-file=" + cp.path(servingKey),
		"--profiling=false",
	}
}
