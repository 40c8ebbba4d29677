package vec3

import "github.com/gokiln/kiln/dsl"

// Fade is a functor for kernels of other packages.
type Fade[T dsl.Real] struct{ By V3[T] }

// Apply is the function.
func (f Fade[T]) Apply(x T) T { return x*f.By.X - f.By.Z }
