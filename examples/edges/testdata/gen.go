//go:build ignore

// This program paints the default picture of the edges example:
//
//	go run ./examples/edges/testdata/gen.go examples/edges/testdata/lighthouse.jpg
package main

import (
	"fmt"
	"image/jpeg"
	"os"

	"github.com/gokiln/kiln/examples/edges/internal/scene"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: go run gen.go file.jpg")
	}
	f, err := os.Create(os.Args[1])
	if err != nil {
		return err
	}
	defer f.Close()
	if err := jpeg.Encode(f, scene.Paint(960, 640), &jpeg.Options{Quality: 82}); err != nil {
		return err
	}
	return f.Close()
}
