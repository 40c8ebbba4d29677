package jit

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit/testkernels"
	"github.com/gokiln/kiln/runtime"
)

// Goroutines that ask for the same specialisations, some of them by launches, have each compiled
// once.
func TestPrefetchOnce(t *testing.T) {
	dev := openCPU(t)
	var mu sync.Mutex
	seen := map[string]int{}
	defer OnResolve(func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		seen[e.Kernel]++
	})()
	k := Of(testkernels.Fill)
	const first, n = 7000, 6
	var list []Wanted
	for i := range 2 * n {
		list = append(list, Wanted{k, []any{dsl.ConstInt(first + i%n), dsl.ConstBool(true)}})
	}
	require.False(t, k.Loaded(dev, nil, dsl.ConstInt(first), dsl.ConstBool(true)))
	out, err := runtime.Alloc[int32](dev, 32)
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() { assert.NoError(t, Prefetch(dev, list...)) })
		group.Go(func() {
			assert.NoError(t, k.Launch(dev.DefaultStream(), runtime.Blocks(1, 32), out, dsl.ConstInt(first), dsl.ConstBool(true)))
		})
	}
	group.Wait()
	require.NoError(t, dev.Sync())
	require.Len(t, seen, n)
	for name, times := range seen {
		require.Equal(t, 1, times, name)
	}
	for i := range n {
		require.True(t, k.Loaded(dev, nil, dsl.ConstInt(first+i), dsl.ConstBool(true)))
	}
	require.False(t, k.Loaded(dev, nil, dsl.ConstInt(first+n), dsl.ConstBool(true)))
	require.Zero(t, testing.AllocsPerRun(10, func() {
		k.Loaded(dev, nil, dsl.ConstInt(first), dsl.ConstBool(true))
	}))
}

// What cannot be compiled is reported beside what can, which is there.
func TestPrefetchErrors(t *testing.T) {
	dev := openCPU(t)
	fill, bad := Of(testkernels.Fill), Of(testkernels.Bad)
	good := []any{dsl.ConstInt(7100), dsl.ConstBool(false)}
	err := Prefetch(dev, Wanted{Kernel: bad}, Wanted{fill, good}, Wanted{Kernel: fill}, Wanted{}, Wanted{Kernel: Of(3)})
	require.ErrorContains(t, err, "K0103: go statement")
	require.ErrorContains(t, err, "Fill: 0 compile-time arguments, the kernel has 2")
	require.ErrorContains(t, err, "a Wanted without a kernel")
	require.ErrorContains(t, err, "int is not a kernel function")
	require.True(t, fill.Loaded(dev, nil, good[0], good[1]))
	require.False(t, bad.Loaded(dev, nil))
	require.NoError(t, Prefetch(dev))
}

// An observer that has been stopped is no longer kept, and those beside it are.
func TestStoppedObserverIsGone(t *testing.T) {
	var l observerList
	var calls [2]int
	stop := l.add(func(Event) { calls[0]++ })
	l.add(func(Event) { calls[1]++ })
	stop()
	stop()
	require.Len(t, l.list, 1)
	l.post(Event{})
	l.deliver()
	require.Equal(t, [2]int{0, 1}, calls)
}
