// Package validate says what is wrong with one object of ours, by field, in sentences a person can act on.
//
// Pure. The CRDs refuse most of it already; these checks hold where a CRD cannot see (quantities, label syntax, rules of
// Kubernetes itself) and for objects that an older schema let in. The webhooks answer with them and the controllers show
// them in conditions.
package validate
