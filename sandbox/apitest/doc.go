// Package apitest holds the API's schema to the real API server: what is written comes back as it was, what the schema
// promises to refuse is refused, the examples apply under strict validation, and kubectl explain has something to say.
//
// It has tests only.
package apitest
