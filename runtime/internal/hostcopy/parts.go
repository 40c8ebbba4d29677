package hostcopy

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
)

// grain is the fewest bytes that are worth a goroutine.
const grain = 512 << 10

// Parts calls f for all parts of size bytes, of at most so many each, by several goroutines. A part
// begins at a multiple of a page. It returns the first error, after which it begins no other part.
func Parts(size int64, most int, f func(at int64, n int) error) error {
	workers := int(min(int64(min(goruntime.GOMAXPROCS(0), goroutines)), size/grain))
	if workers < 2 {
		return inTurn(size, most, f)
	}
	part := int64(partOf(size, most, workers))
	var (
		next   atomic.Int64
		failed atomic.Bool
		once   sync.Once
		first  error
		wg     sync.WaitGroup
	)
	for range workers {
		wg.Go(func() {
			for !failed.Load() {
				at := next.Add(part) - part
				if at >= size {
					return
				}
				if err := f(at, int(min(part, size-at))); err != nil {
					once.Do(func() { first = err })
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	return first
}

func inTurn(size int64, most int, f func(at int64, n int) error) error {
	for at := int64(0); at < size; at += int64(most) {
		if err := f(at, int(min(int64(most), size-at))); err != nil {
			return err
		}
	}
	return nil
}

// partOf is the size of a part: several for each goroutine, so that all end at about the same time.
func partOf(size int64, most, workers int) int {
	const page, each = 4096, 4
	part := (size/int64(each*workers) + page - 1) / page * page
	return int(min(max(part, grain), int64(most)))
}

// parallelCopy copies like copy, large pieces on several cores.
func parallelCopy(dst, src []byte) {
	_ = Parts(int64(len(src)), len(src), func(at int64, n int) error { // without an error, as f is
		copy(dst[at:at+int64(n)], src[at:])
		return nil
	})
}
