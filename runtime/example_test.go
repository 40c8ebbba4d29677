package runtime_test

import (
	"fmt"
	"log"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/jit/testkernels"
	"github.com/gokiln/kiln/runtime"
)

// What is launched over and over is captured once, and then launched as a whole.
// Between launches a program changes the contents of memory, not what is done with
// it.
func ExampleDevice_Capture() {
	dev, err := runtime.Open("cpu") // or "auto": a GPU where there is one
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	x, err := runtime.From(dev, []float32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}

	scale := jit.Of(testkernels.Scale[float32])
	graph, err := dev.Capture(func(s *runtime.Stream) error {
		for range 3 {
			if err := scale.Launch(s, runtime.Cover(x.Len(), 64), x, float32(2)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	defer graph.Close()

	for range 2 {
		if err := graph.Launch(dev.DefaultStream()); err != nil {
			log.Fatal(err)
		}
		got, err := x.Host()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(got)
	}
	// Output:
	// [8 16 24]
	// [64 128 192]
}
