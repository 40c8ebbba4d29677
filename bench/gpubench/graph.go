package main

import (
	"fmt"
	"testing"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/runtime"
)

const (
	graphKernels = 20 // in the graph that is launched
	graphBatch   = 6  // launches of it in a sample: see batch
)

// graphRows compare a graph of small kernels, each of which comes after the one
// before, with their launches one by one.
func graphRows(dev *runtime.Device, c config, launch func(s *runtime.Stream) error) ([]figure.Row, error) {
	submit := func(s *runtime.Stream) error {
		for range graphKernels {
			if err := launch(s); err != nil {
				return err
			}
		}
		return nil
	}
	g, err := dev.Capture(submit)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	s := dev.DefaultStream()
	whole := func() error { return g.Launch(s) }
	single := func() error { return submit(s) }
	host, err := alternateHost(dev, c, graphBatch, whole, single)
	if err != nil {
		return nil, err
	}
	rows := []figure.Row{
		figure.Of("launch", "host time of one kernel of 20", "kiln", "ns", "in a graph", perKernel(host[0])),
		figure.Of("launch", "host time of one kernel of 20", "kiln", "ns", "20 launches", perKernel(host[1])),
	}
	for _, way := range []struct {
		note string
		call func() error
	}{{"as a graph", whole}, {"20 launches", single}} {
		wait, err := roundTrip(s, c, way.call)
		if err != nil {
			return nil, err
		}
		rows = append(rows, figure.Of("launch", "launch 20 kernels and wait", "kiln", "ns", way.note, wait))
	}
	allocs := testing.AllocsPerRun(graphBatch, func() { err = whole() })
	rows[0].Note += fmt.Sprintf(", %g allocations", allocs)
	return rows, err
}

// perKernel divides times of all kernels.
func perKernel(ns []float64) []float64 {
	each := make([]float64, len(ns))
	for i := range ns {
		each[i] = ns[i] / graphKernels
	}
	return each
}
