package compiler_test

import (
	"fmt"
	"log"
	"path"
	"strings"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
)

// A kernel becomes IR, which is the same for all targets, and then code for one.
func Example() {
	p, err := compiler.Front(front.Request{Pkg: kernels, Func: "Saxpy", TypeArgs: []string{"float32"}}, compiler.Registered)
	if err != nil {
		log.Fatal(err)
	}
	tgt, err := target.Parse("ptx:sm_90")
	if err != nil {
		log.Fatal(err)
	}
	art, err := p.Emit(tgt, compiler.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(path.Base(art.Kernel), "for", art.Target)
	for line := range strings.Lines(string(art.Code)) {
		if strings.Contains(line, ".entry") {
			fmt.Print(line)
		}
	}
	// Output:
	// kernels.Saxpy[float32] for ptx:sm_90
	// .visible .entry Saxpy(
}
