// Package rights lets a manager live a whole life as its own ServiceAccount, with the generated rules and no others, and
// holds the API server's audit log against them: nothing was forbidden, and nothing is granted that was not used.
//
// It has tests only.
package rights
