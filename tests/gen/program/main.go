package main

import (
	"embed"
	"fmt"
	"os"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
)

//go:generate go run ../../../cmd/kiln gen

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// scale multiplies all of x.
//
//kiln:kernel
func scale[T dsl.Real](t dsl.Thread, x []T, by T) {
	if i := t.Global(); i < len(x) {
		x[i] *= by
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "program:", err)
		os.Exit(1)
	}
}

func run() error {
	dev, err := runtime.Open("cpu")
	if err != nil {
		return err
	}
	defer dev.Close()
	x, err := runtime.From(dev, []float64{1, 2, 3})
	if err != nil {
		return err
	}
	if err := launchScale(dev.DefaultStream(), runtime.Cover(x.Len(), 64), x, 1.5); err != nil {
		return err
	}
	out, err := x.Host()
	fmt.Println(out)
	return err
}
