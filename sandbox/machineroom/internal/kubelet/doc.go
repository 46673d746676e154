// Package kubelet is one node's agent: it registers a kubeNode, keeps its Lease and status, and runs the pods that are
// bound to it, until its context ends.
//
// It exists because the sandbox is judged by what a kubelet does when machines go up and down, and a library that only
// resembles a kubelet there would prove the wrong thing. The rules it keeps:
//
//   - It registers once, at its start. A Node object that is deleted later stays deleted until the next start; status
//     updates on the missing object fail, and a Lease is not made for it.
//   - A Node object that is already there is taken over as it stands: taints, labels, providerID and a cordon stay, the
//     well-known labels are put right, and the status says Ready again.
//   - When its context ends it falls silent in the middle of whatever it did. It never writes Ready=Unknown and never
//     says goodbye: that is the node lifecycle controller's to find out.
//
// virtual-kubelet's node library (v1.14.1) was weighed for this and set aside. Its node controller keeps its bookkeeping in the
// kubeNode's annotations and patches labels and annotations of an object it takes over. Its pod controller cannot leave
// a shared informer, so that every boot of every machine would need a watch of its own; and it keeps a deleted pod for
// the whole grace period after its process ended, which holds up everybody who waits to see a Job's pod gone.
//
// Two kinds of node come out of it. With Execute set, a container that has a command, or an image whose command is known,
// is run as a local process, with its environment and volumes resolved; that is how lifecycle Jobs really act. Any other
// container (nothing to run, or a node without Execute) is a sleeper: it is Running until it is asked to go, and nothing is executed.
package kubelet
