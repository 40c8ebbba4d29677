// Command kiln-vet checks GPU kernels as a tool of go vet.
//
//	go install github.com/gokiln/kiln/cmd/kiln-vet@latest
//	go vet -vettool=$(which kiln-vet) ./...
//
// It reports what kiln check reports. Without go vet it takes packages itself,
// and -fix applies the corrections that some diagnostics suggest:
//
//	kiln-vet -fix ./...
package main
