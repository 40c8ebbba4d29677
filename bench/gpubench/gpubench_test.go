package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/bench/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// TestTable checks that rows of several files come together by subject.
func TestTable(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, rows ...figure.Row) string {
		var b bytes.Buffer
		require.NoError(t, figure.WriteJSON(&b, rows))
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
		return path
	}
	ours := file("a", figure.Of("s", "copy", "driver", "GB/s", "", []float64{2}), figure.Of("s", "add", "kiln", "GB/s", "", []float64{1}))
	theirs := file("b", figure.Of("s", "copy", "torch", "GB/s", "x", []float64{3}))
	var out, errs bytes.Buffer
	require.NoError(t, run([]string{"-table", ours, theirs}, &out, &errs))
	require.Equal(t, ""+
		"suite  what  who     median  p10..p90      unit  note\n"+
		"s      copy  driver  2.000   2.000..2.000  GB/s  \n"+
		"s      copy  torch   3.000   3.000..3.000  GB/s  x\n"+
		"s      add   kiln    1.000   1.000..1.000  GB/s  \n", out.String())
	require.Error(t, run([]string{"-table", filepath.Join(dir, "missing")}, &out, &errs))
}

// TestRatio compares the best rows of two systems, faster rates and shorter times alike.
func TestRatio(t *testing.T) {
	var file bytes.Buffer
	require.NoError(t, figure.WriteJSON(&file, []figure.Row{
		figure.Of("s", "add", "kiln", "GB/s", "", []float64{1}), figure.Of("s", "add", "kiln", "GB/s", "", []float64{4}), figure.Of("s", "add", "torch", "GB/s", "", []float64{2}),
		figure.Of("s", "launch", "kiln", "ns", "", []float64{4}), figure.Of("s", "launch", "torch", "ns", "", []float64{4}), figure.Of("s", "launch", "torch", "ns", "", []float64{2}),
		figure.Of("s", "alone", "kiln", "ns", "", []float64{4}),
	}))
	path := filepath.Join(t.TempDir(), "rows")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o600))
	var out bytes.Buffer
	require.NoError(t, run([]string{"-ratio", "kiln/torch", path}, &out, &out))
	require.Equal(t, ""+
		"what                 kiln   torch  unit  ratio\n"+
		"add                  4.000  2.000  GB/s  2.00\n"+
		"launch               4.000  2.000  ns    0.50\n"+
		"geometric mean of 2                      1.000\n", out.String())
	require.ErrorContains(t, run([]string{"-ratio", "kiln", path}, &out, &out), "as in kiln/torch")
}

func TestUnknownSuite(t *testing.T) {
	var out bytes.Buffer
	require.ErrorContains(t, run([]string{"-suite", "sleep"}, &out, &out), "saxpy, launch, cold and all")
}

// TestSaxpySuiteOnCPU runs the suite where every machine can: the check of the
// results is what matters, not the rates.
func TestSaxpySuiteOnCPU(t *testing.T) {
	rows, err := saxpySuite(config{device: "cpu", bytes: 4 * pattern, samples: 1, warm: time.Nanosecond})
	require.NoError(t, err)
	require.Len(t, rows, 5)
	for _, r := range rows {
		require.Positive(t, r.Median, r.What)
	}
}

// TestGraphRowsOnCPU runs what is measured of graphs where every machine can.
func TestGraphRowsOnCPU(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	x, y, err := twoArrays(dev, 256)
	require.NoError(t, err)
	launches := 0
	rows, err := graphRows(dev, config{samples: 2}, func(s *runtime.Stream) error {
		launches++
		return jit.Of(kernels.Saxpy).Launch(s, runtime.Blocks(1, 256), y, x, float32(0.5))
	})
	require.NoError(t, err)
	require.Len(t, rows, 4)
	for _, r := range rows {
		require.Positive(t, r.Median, r.What)
	}
	require.Zero(t, launches%graphKernels)
	require.NoError(t, dev.Sync())
}

// TestCheckSaxpyFindsErrors checks the check: a variant that does nothing, and
// one that misses the last element, must not pass.
func TestCheckSaxpyFindsErrors(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	values := [2][]float32{normal(pattern, 1), normal(pattern, 2)}
	y, err := repeated(dev, values[1], 2*pattern)
	require.NoError(t, err)
	x, err := repeated(dev, values[0], 2*pattern)
	require.NoError(t, err)
	for _, v := range saxpyVariants(dev, y, x)[1:] {
		require.NoError(t, checkSaxpy(v, y, values))
	}
	require.ErrorContains(t, checkSaxpy(variant{what: "nothing", submit: func() error { return nil }}, y, values), "element 0")
	short := saxpyVariants(dev, y.Slice(0, y.Len()-1), x)[1]
	require.ErrorContains(t, checkSaxpy(short, y, values), "element 2097151")
}

func TestColdRowsSayWhenNotAsMeant(t *testing.T) {
	rows := coldRows("warm", "cache", []coldTimes{{Source: "cache", Total: 1}, {Source: "compiled", Total: 3}})
	require.Len(t, rows, 1)
	require.InDelta(t, 2, rows[0].Median, 1e-12)
	require.Contains(t, rows[0].Note, "NOT AS MEANT")
}
