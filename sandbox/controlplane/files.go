package controlplane

import (
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"homecluster.dev/autoscaler/sandbox/controlplane/pki"
)

// Files of the folder that command lines name.
const (
	caFile               = "ca.crt"
	servingCert          = "serving.crt"
	servingKey           = "serving.key"
	kubeletClientCert    = "kubelet-client.crt"
	kubeletClientKey     = "kubelet-client.key"
	serviceAccountKey    = "service-account.key"
	serviceAccountPublic = "service-account.pub"
	adminKubeconfig      = "kubeconfig"
)

// The group that RBAC's bootstrap policy makes all-powerful.
const adminGroup = "system:masters"

// furnish writes every file into the folder and chooses the ports, which the kubeconfigs name.
func (cp *ControlPlane) furnish() error {
	if err := os.MkdirAll(cp.Logs, 0o700); err != nil {
		return err
	}
	var err error
	if cp.ports, err = freePorts(); err != nil {
		return err
	}
	if err := cp.writeCertificates(); err != nil {
		return err
	}
	if cp.admin, err = cp.UserConfig("sandbox-admin", adminGroup); err != nil {
		return err
	}
	if err := writeKubeconfig(cp.Kubeconfig(), cp.admin); err != nil {
		return err
	}
	for component, user := range map[string]string{
		ControllerManager: "system:kube-controller-manager",
		Scheduler:         "system:kube-scheduler",
	} {
		config, err := cp.UserConfig(user)
		if err != nil {
			return err
		}
		if err := writeKubeconfig(cp.path(component+".kubeconfig"), config); err != nil {
			return err
		}
	}
	return nil
}

func (cp *ControlPlane) writeCertificates() error {
	var err error
	if cp.authority, err = pki.NewAuthority("homelab-autoscaler sandbox"); err != nil {
		return err
	}
	if cp.serving, err = cp.authority.Serving("sandbox",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc"); err != nil {
		return err
	}
	kubelet, err := cp.authority.Client("kube-apiserver-kubelet-client", adminGroup)
	if err != nil {
		return err
	}
	private, public, err := pki.SigningKey()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		caFile:      cp.authority.Cert,
		servingCert: cp.serving.Cert, servingKey: cp.serving.Key,
		kubeletClientCert: kubelet.Cert, kubeletClientKey: kubelet.Key,
		serviceAccountKey: private, serviceAccountPublic: public,
	} {
		if err := os.WriteFile(cp.path(name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Config is the all-powerful user's access to the API server; the caller owns the copy.
func (cp *ControlPlane) Config() *rest.Config { return rest.CopyConfig(cp.admin) }

// Kubeconfig is the path of the all-powerful user's kubeconfig, for kubectl.
func (cp *ControlPlane) Kubeconfig() string { return cp.path(adminKubeconfig) }

// URL is where the API server listens.
func (cp *ControlPlane) URL() string { return url(cp.ports.api) }

// Authority issues further certificates that the API server trusts, and that trust it: for webhooks and kubelets.
func (cp *ControlPlane) Authority() *pki.Authority { return cp.authority }

// UserConfig is the access of a user of this name in these groups, who may do what RBAC says.
func (cp *ControlPlane) UserConfig(name string, groups ...string) (*rest.Config, error) {
	pair, err := cp.authority.Client(name, groups...)
	if err != nil {
		return nil, err
	}
	return &rest.Config{
		Host:            cp.URL(),
		TLSClientConfig: rest.TLSClientConfig{CAData: cp.authority.Cert, CertData: pair.Cert, KeyData: pair.Key},
		QPS:             -1, // the server's own fairness is enough
	}, nil
}

// WriteKubeconfig writes what a rest.Config says as a kubeconfig, for programs that want a file.
func (cp *ControlPlane) WriteKubeconfig(path string, config *rest.Config) error {
	return writeKubeconfig(path, config)
}

func writeKubeconfig(path string, config *rest.Config) error {
	const name = "sandbox"
	file := clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{
			name: {Server: config.Host, CertificateAuthorityData: config.CAData},
		},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{
			name: {ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken},
		},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
	if err := clientcmd.WriteToFile(file, path); err != nil {
		return fmt.Errorf("writing kubeconfig %s: %w", path, err)
	}
	return nil
}
