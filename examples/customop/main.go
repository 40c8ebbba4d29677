package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/gokiln/kiln/tensor"
)

func main() {
	device := flag.String("device", "auto", "device: auto, cpu, or one that kiln devices lists")
	flag.Parse()
	if err := run(os.Stdout, *device); err != nil {
		fmt.Fprintln(os.Stderr, "customop:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, device string) error {
	dev, err := tensor.Open(device)
	if err != nil {
		return err
	}
	defer dev.Close()
	x := tensor.NewVar(tensor.Linspace(dev, tensor.F32, -60, 60, 9).Reshape(3, 3))
	y := tensor.Apply1(softCap{limit: 30}, x.Tensor())
	grads, err := y.Backward()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%v\n%v\n", y, grads.Of(x.Tensor()))
	return err
}
