// Package e2e tests the programs as their users run them: real processes, a
// real cache directory. The scripts in testdata/script are testscripts; what
// needs several processes at once, or files damaged byte by byte, is in Go.
package e2e
