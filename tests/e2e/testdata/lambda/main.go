// Command lambda runs function literals on a device. They stand in host code: in a
// method, in a function that the Go compiler inlines, in a generic function, in a
// file that imports net/http.
package main

import (
	"embed"
	"fmt"
	"net/http"
	"os"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/e2e/testdata/lambda/bare"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

var global = jit.Func(func(x, y float32) float32 { return x - y })

type server struct{ client http.Client }

func (s *server) method() *jit.Fn {
	s.client.CloseIdleConnections()
	return jit.Func(func(x, y float32) float32 {
		return square(x) + y
	})
}

func square(x float32) float32 { return x * x }

func inlined() any { return func(x, y float32) float32 { return x + 2*y } }

func generic[T dsl.Real]() *jit.Fn { return jit.Func(func(x, y T) T { return max(x, y) }) }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	dev, err := runtime.Open(os.Args[1])
	if err != nil {
		return err
	}
	defer dev.Close()
	x, err := runtime.From(dev, []float32{1, 2, 3})
	if err != nil {
		return err
	}
	y, err := runtime.From(dev, []float32{3, 2, 1})
	if err != nil {
		return err
	}
	out, err := runtime.Alloc[float32](dev, 3)
	if err != nil {
		return err
	}
	captured := float32(len(os.Args))
	for _, f := range []*jit.Fn{
		global, (&server{}).method(), jit.Func(inlined()), generic[float32](), jit.Func(square), jit.Func(bare.Add()),
		jit.Func(func(x, y float32) float32 {
			return x * y * captured
		}),
	} {
		if err := f.Map(dev.DefaultStream(), out, x, y); err != nil {
			fmt.Println(err)
			continue
		}
		got, err := out.Host()
		if err != nil {
			return err
		}
		fmt.Println(got)
	}
	return nil
}
