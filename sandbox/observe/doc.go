// Package observe proves the power observer: managers and observers with the rights that they are installed with, machines
// whose switches tell the truth or lie over each protocol that can be read, and the machine room's own power log to judge by.
// Its benchmark measures what a manager is held up by switches that hang: nothing.
package observe
