package main

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/ops/dtype"
	matmulops "github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/tensor"
)

var precisions = map[string]matmulops.Precision{"": matmulops.Highest, "split": matmulops.Split, "high": matmulops.High, "medium": matmulops.Medium}

// strategies are one product, such as "bf16:16x14336x4096" for m, n and k, by every strategy: those
// that are not for it are errors. A type f32-split, f32-high or f32-medium is float32 of a precision.
// A type f8e4m3>bf16 or i8>i32 has results of another one. With a "t" at the end the second factor is transposed, as weights are.
func strategies(text string) (func(d *tensor.Device, small bool) []work, error) {
	var m, n, k int
	name, size, _ := strings.Cut(text, ":")
	size, transposed := strings.CutSuffix(size, "t")
	if _, err := fmt.Sscanf(size, "%dx%dx%d", &m, &n, &k); err != nil {
		return nil, fmt.Errorf("-product %s is not like bf16:16x14336x4096: %w", text, err)
	}
	name, result, other := strings.Cut(name, ">")
	name, permitted, _ := strings.Cut(name, "-")
	t, err := dtype.Parse(name)
	to := t
	if err == nil && other {
		to, err = dtype.Parse(result)
	}
	if err != nil {
		return nil, fmt.Errorf("-product %s: %w", text, err)
	}
	precision, known := precisions[permitted]
	if !known {
		return nil, fmt.Errorf("-product %s: no precision %s", text, permitted)
	}
	return func(d *tensor.Device, _ bool) (list []work) {
		x, y, out := drawn(d, t, m, k), drawn(d, t, k, n), room(d, to, m, n)
		if transposed {
			y = turned(drawn(d, t, n, k))
		}
		for _, way := range append([]string{""}, matmulops.MatmulStrategies()...) {
			list = append(list, work{
				name:  strings.TrimSuffix(fmt.Sprintf("%s in %s", text, way), " in "),
				flops: 2 * float64(m) * float64(n) * float64(k),
				op: func() error {
					return matmulops.MatmulWith(d.Stream(), matmulops.Options{Precision: precision, Strategy: way}, out, x, y)
				},
			})
		}
		return list
	}, nil
}
