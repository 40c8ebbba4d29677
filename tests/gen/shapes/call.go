package shapes

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
)

// Increment launches a kernel that other packages cannot see.
func Increment(s *runtime.Stream, x runtime.Slice[byte]) error {
	return launchUndocumented(s, runtime.Cover(x.Len(), 64), x)
}

// Sums adds a times each part of x to y: a generic function that launches a kernel of its
// own types.
func Sums[T dsl.Real](s *runtime.Stream, y runtime.Slice[T], a T, parts ...runtime.Slice[T]) error {
	for _, x := range parts {
		if err := LaunchAxpy(s, runtime.Cover(y.Len(), 64), y, x, a); err != nil {
			return err
		}
	}
	return nil
}
