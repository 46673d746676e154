package model

// Kind is a kind of thing that can happen, of which a scope allows so many.
type Kind uint8

// The kinds. What has no kind (a lifecycle Job that works, a kubelet that registers, the garbage collector) is free.
const (
	Free            Kind = iota
	ProviderClaims       // the provider takes the slot
	HandClaims           // a person makes a claim
	Unfilled             // a person makes a claim while the webhook is down, so that nobody fills in what it does not say
	Marks                // the provider ends claims: DeleteNodes with its delete, without it, or a pending claim taken back
	ClaimDeletes         // a person deletes a claim
	SlotDeletes          // a person deletes the slot
	SlotCreates          // the slot is created again, with a new uid
	KubeNodeDeletes      // a person deletes the kubeNode
	JobDeletes           // a person deletes a lifecycle Job
	Strips               // a person takes our finalizer off
	Holds                // a person holds the slot; releasing it is free
	GroupDeletes         // the group is deleted; creating it again is free
	Patches              // shutdownAttempts is patched to 0
	Terminations         // the namespace is deleted
	Restores             // the objects come back from a backup that strips status
	Crashes              // the manager dies in the middle of a commit
	StaleCaches          // an informer cache lags behind for one pass
	Leaders              // a leader is paused in a commit and goes on after its successor has acted
	Brakes               // another machine took the MachineGone token
	Wakes                // time passes to the moment a decision asked for
	Jumps                // time passes past it
	BadEffects           // a lifecycle Job is swallowed, or hangs the machine
	BadEnds              // a lifecycle Job reports anything but success
	Silences             // a kubelet goes silent on a machine that is on
	Returns              // a silent kubelet comes back
	Deaths               // the machine loses power
	Rises                // somebody presses the power button
	Taints               // a kubelet registers with a readiness taint
	Cordons              // cluster-autoscaler taints the kubeNode and cordons it
	PodsBound            // a pod is bound to the machine
	Polls                // the machine's own switch is read
	Stuck                // it is read, and says what it said before, or does not answer
	Falsehoods           // it is read, and says the opposite of what is true
	kinds
)

// Budget is how many of each kind are left.
type Budget [kinds]uint8

// With is the budget with so many of a kind.
func (b Budget) With(kind Kind, n uint8) Budget {
	b[kind] = n
	return b
}

// has is whether one of the kind is left.
func (b Budget) has(kind Kind) bool { return kind == Free || b[kind] > 0 }

func (b *Budget) spend(kind Kind) {
	if kind != Free {
		b[kind]--
	}
}
