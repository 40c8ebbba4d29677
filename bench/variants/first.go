package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/prebuilt/commonops"
	_ "github.com/gokiln/kiln/prebuilt/cpu"
	_ "github.com/gokiln/kiln/prebuilt/cuda"
	"github.com/gokiln/kiln/tensor"
)

// firstUse measures the first use of all operations in this process, with nothing in the cache,
// and with or without the bundles that are part of it.
func firstUse(out io.Writer, device string, bundles bool) error {
	dir, err := os.MkdirTemp("", "kiln-variants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	mode := jit.Off
	if bundles {
		mode = jit.Auto
	}
	if err := errors.Join(os.Setenv("KILN_CACHE_DIR", dir), os.Setenv("KILN_BUNDLES", ""), os.Setenv("KILN_JIT", string(mode))); err != nil {
		return err
	}
	d, err := tensor.Open(device)
	if err != nil {
		return err
	}
	from := map[string]int{}
	defer jit.OnResolve(func(e jit.Event) { from[e.Source]++ })()
	cases := commonops.Cases()
	start, busy := time.Now(), figure.ProcessorTime()
	for _, op := range cases {
		if err := op.Run(d); err != nil {
			return fmt.Errorf("%s: %w", op.Name, err)
		}
	}
	if err := d.Synchronize(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "first use of %d operations: %.0f ms, %.0f ms of processor time; kernels from bundles %d, compiled %d\n",
		len(cases), millis(time.Since(start)), millis(figure.ProcessorTime()-busy), from["bundle"], from["compiled"])
	return err
}
