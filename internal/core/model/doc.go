// Package model is a small, exact world around one slot: what an API server keeps, what a machine does, and what people and
// clients can do to both. Two engines drive slot.Step through it: Explore visits every state within a scope, Episode plays
// one random history. Both hold every transition to the same laws.
//
// A State is a value over immutable objects: a write makes a new object and leaves the old one to the states that share
// it, so that a copy of a State is a copy of a few words. Nothing here decides anything; whoever wants to know what the
// system does reads core/slot. Only tests import this package.
package model
