// Package linalgtest has the cases of package linalg: factorisations and solutions. Package suite
// runs them.
package linalgtest
