// Package analyzer is the kernel checker as an analysis of go vet, editors and
// other drivers of golang.org/x/tools/go/analysis.
//
// [Analyzer] reports for a package what `kiln check` reports: it gives the text
// of the package's files to the compiler's front end and turns each
// [diag.Diagnostic] into a diagnostic of the driver. The code is the category,
// the fix is part of the message, notes become related information at the
// position they speak of, and mistakes with a mechanical correction carry it as a
// suggested fix.
//
// Kernels call functions of other kernel packages, whose source a driver does
// not hand out. Therefore a package that registers its source with dsl.Source
// exports that source as a fact, together with the sources it depends on
// itself.
//
//	go build -o kiln-vet ./cmd/kiln-vet
//	go vet -vettool=$(pwd)/kiln-vet ./...
package analyzer
