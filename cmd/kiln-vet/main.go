package main

import (
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/gokiln/kiln/compiler/analyzer"
)

// multichecker speaks the protocol of go vet too.
func main() { multichecker.Main(analyzer.Analyzer) }
