package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tests/faults/kernels"
)

const (
	soakWorkers = 8
	soakRows    = 64
	soakCols    = 16
)

// TestSoak has goroutines compute on one device, every other one with bad indices at times: no
// value may be wrong without an error, and none may have an error that it does not depend on.
func TestSoak(t *testing.T) {
	d := 2 * time.Second
	if text := os.Getenv("KILN_SOAK"); text != "" {
		var err error
		d, err = time.ParseDuration(text)
		require.NoError(t, err, "KILN_SOAK is a time such as 1m")
	}
	each(t, func(t *testing.T, dev *runtime.Device) { soak(t, dev, d) })
}

// worker is one goroutine of a soak test.
type worker struct {
	id    int
	dev   *tensor.Device
	table *tensor.Tensor // row i holds i·soakCols and so on; all workers share it
	raw   runtime.Slice[float32]
	st    *runtime.Stream
	v     *tensor.Var
	rnd   *rand.Rand
	n     int
	found int // errors
}

func soak(t *testing.T, dev *runtime.Device, d time.Duration) {
	td := tensor.On(dev)
	list := make([]float32, soakRows*soakCols)
	for i := range list {
		list[i] = float32(i)
	}
	table, raw := tensor.From(td, list, soakRows, soakCols), upload(t, dev, list...)
	require.NoError(t, dev.Sync())
	var all sync.WaitGroup
	var stop atomic.Bool
	var results, failures atomic.Int64
	time.AfterFunc(d, func() { stop.Store(true) })
	for i := range soakWorkers {
		st, err := dev.NewStream()
		require.NoError(t, err)
		w := &worker{id: i, dev: td, table: table, raw: raw, st: st, v: tensor.NewVar(table), rnd: rand.New(rand.NewPCG(1, uint64(i)))}
		all.Go(func() {
			for !stop.Load() {
				if err := w.step(); err != nil {
					t.Errorf("goroutine %d, step %d: %v", i, w.n, err)
					stop.Store(true)
				}
			}
			results.Add(int64(w.n))
			failures.Add(int64(w.found))
		})
	}
	all.Wait()
	require.NoError(t, ignore(dev.Sync(), runtime.ErrLaunch))
	require.NotZero(t, failures.Load())
	t.Logf("%s: %d results, %d of them errors", dev.Name(), results.Load(), failures.Load())
}

// step computes something and checks it.
func (w *worker) step() error {
	w.n++
	ids := make([]int32, 1+w.rnd.IntN(8))
	for i := range ids {
		ids[i] = w.rnd.Int32N(soakRows)
	}
	bad := ""
	if w.id%2 == 0 && w.rnd.IntN(3) == 0 {
		if w.rnd.IntN(8) == 0 {
			ids = slices.Repeat(ids, 1000) // all of them bad: more than one record
		}
		id := int32(soakRows + w.id + soakWorkers*(w.n%1000))
		for i := range ids {
			if i == 0 || len(ids) > 8 {
				ids[i] = id
			}
		}
		bad = fmt.Sprintf("index %d at", id)
	}
	switch w.rnd.IntN(8) {
	case 0:
		if err := w.dev.Synchronize(); err != nil && !errors.Is(err, tensor.ErrKernel) {
			return err
		}
		return w.tensors(ids, bad)
	case 1:
		return w.launches(ids, bad)
	case 2:
		return w.sets(ids, bad)
	}
	return w.tensors(ids, bad)
}

// check compares what was read with what it must be: x of row i of the ids is base·scale + add.
func (w *worker) check(got []float32, err error, ids []int32, bad string, scale, add float32) error {
	if bad != "" {
		w.found++
		switch {
		case err == nil:
			return fmt.Errorf("no error, want that of %q", bad)
		case !errors.Is(err, runtime.ErrLaunch) || !contains(err, bad):
			return fmt.Errorf("want that of %q: %w", bad, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("it has no failure: %w", err)
	}
	for i, x := range got {
		if want := (float32(int(ids[i/soakCols])*soakCols+i%soakCols))*scale + add; x != want {
			return fmt.Errorf("element %d is %v, want %v", i, x, want)
		}
	}
	return nil
}

// contains reports whether the error is of this index or, where the log had no room for it,
// of a launch that failed.
func contains(err error, bad string) bool {
	return strings.Contains(err.Error(), bad) || strings.Contains(err.Error(), "no room to say which and where")
}

func (w *worker) rows(ids []int32) *tensor.Tensor {
	at := tensor.From(w.dev, ids, len(ids))
	switch w.rnd.IntN(3) {
	case 0:
		return w.table.IndexSelect(at, 0)
	case 1:
		return w.table.Embedding(at)
	}
	return w.table.Gather(at.Reshape(len(ids), 1).BroadcastTo(len(ids), soakCols).Contiguous(), 0)
}

func (w *worker) tensors(ids []int32, bad string) error {
	x := w.rows(ids)
	y := x.MulScalar(2).AddScalar(1).T().Contiguous()
	for range w.rnd.IntN(20) {
		_ = w.table.AddScalar(1) // work behind it
	}
	z := y.T()
	for range 2 { // each time
		got, err := tensor.ToSlice[float32](z)
		if err := w.check(got, err, ids, bad, 2, 1); err != nil {
			return err
		}
	}
	got, err := tensor.ToSlice[float32](x)
	return w.check(got, err, ids, bad, 1, 0)
}

// sets sets a variable, which is read and set again.
func (w *worker) sets(ids []int32, bad string) error {
	x := w.rows(ids)
	v := tensor.NewVar(tensor.Zeros(w.dev, tensor.F32, len(ids), soakCols))
	err := v.Set(x)
	var got []float32
	if err == nil {
		got, err = tensor.ToSlice[float32](v.Tensor())
	}
	if err := w.check(got, err, ids, bad, 1, 0); err != nil {
		return err
	}
	good := make([]int32, len(ids))
	if err := v.Set(w.rows(good)); err != nil {
		return fmt.Errorf("set again: %w", err)
	}
	got, err = tensor.ToSlice[float32](v.Tensor())
	return w.check(got, err, good, "", 1, 0)
}

// launches uses the raw API on a stream of the worker's own.
func (w *worker) launches(ids []int32, bad string) error {
	dev := w.st.Device()
	at, err := runtime.From(dev, ids)
	if err != nil {
		return err
	}
	out, err := runtime.Alloc[float32](dev, len(ids))
	if err != nil {
		return err
	}
	next, err := runtime.Alloc[float32](dev, len(ids))
	if err != nil {
		return err
	}
	short := w.raw.Slice(0, soakRows)
	if err := jit.Of(kernels.Pick).Launch(w.st, runtime.Cover(len(ids), 64), out, short, at); err != nil {
		return err
	}
	if err := jit.Of(kernels.Twice).Launch(w.st, runtime.Cover(len(ids), 64), next, out); err != nil {
		return err
	}
	if err := w.st.Sync(); err != nil && bad == "" {
		return fmt.Errorf("the stream has no failure: %w", err)
	}
	got, err := next.Host()
	for i := range got {
		if bad == "" && got[i] != 2*float32(ids[i]) {
			return fmt.Errorf("element %d is %v, want %v", i, got[i], 2*float32(ids[i]))
		}
	}
	return w.check(nil, err, ids, bad, 1, 0)
}
