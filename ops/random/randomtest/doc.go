// Package randomtest has the cases of package random: random numbers. Package suite runs them.
package randomtest
