// Package observe proves the power observer: managers and observers with the rights that they are installed with, machines
// with IPMI controllers that tell the truth or lie, and the machine room's own power log to judge by.
package observe
