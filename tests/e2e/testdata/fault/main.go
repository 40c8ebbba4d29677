// Command fault runs a kernel that divides by zero, and then once more one that
// does not.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/e2e/testdata/fault/kernels"
)

func main() {
	device := flag.String("device", "auto", "device")
	flag.Parse()
	if err := run(*device); err != nil {
		fmt.Fprintln(os.Stderr, "fault:", err)
		os.Exit(1)
	}
}

func run(device string) error {
	dev, err := runtime.Open(device)
	if err != nil {
		return err
	}
	defer dev.Close()
	failed := divide(dev, []int32{1, 2, 0, 4})
	if err := divide(dev, []int32{1, 2, 3, 4}); err != nil {
		return fmt.Errorf("the device does not go on: %w", err)
	}
	return failed
}

func divide(dev *runtime.Device, by []int32) error {
	x, err := runtime.From(dev, by)
	if err != nil {
		return err
	}
	if err := jit.Of(kernels.Divide).Launch(dev.DefaultStream(), runtime.Blocks(2, 2), x, int32(60)); err != nil {
		return err
	}
	got, err := x.Host()
	if err == nil {
		fmt.Println(got)
	}
	return err
}
