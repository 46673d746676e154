// Package machineroom is the sandbox's metal: simulated machines, each with a power switch of its own, and always-on
// nodes that really execute the Jobs which work those switches.
//
// A machine that is switched on takes its boot time, registers a kubeNode, keeps its Lease, runs the pods bound to it
// and, when its power goes, falls silent; nothing in here ever says that a node is gone. Its temperament says in which
// way it disappoints, and can be changed while it runs.
//
// The room's own switch is an HTTP endpoint on loopback and knows nothing of Kubernetes; package bmc gives a machine others,
// which speak real protocols. A slot's pods work them with the power command, so that a power-on travels the road it
// travels at home: Job, pod, process, switch, boot, kubelet.
//
// Everything that happens to power is appended to one log, by which tests judge.
package machineroom
