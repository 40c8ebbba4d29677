package optim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/optim"
)

// Schedules beside PyTorch's.
func TestSchedulesGolden(t *testing.T) {
	g := loadGolden(t)
	for name, s := range map[string]optim.Schedule{
		"cosine":         optim.Cosine{From: 0.5, To: 0.01, Steps: 10},
		"restarts":       optim.Restarts{From: 0.5, To: 0.01, Steps: 4, Mult: 2},
		"onecycle":       optim.OneCycle{Max: 0.5, Steps: 20},
		"onecycle_three": optim.OneCycle{Max: 0.5, Steps: 21, Linear: true, Three: true},
	} {
		for step, want := range g.Schedules[name] {
			require.InDelta(t, want, s.At(step), 1e-12, "%s at %d", name, step)
		}
	}
	p := optim.Plateau{LR: 1, Factor: 0.5, Patience: 2, Cooldown: 1, Min: 0.1}
	for i, loss := range g.Losses {
		require.InDelta(t, g.Schedules["plateau"][i], p.Observe(loss), 1e-12, "observation %d", i)
	}
	p = optim.Plateau{LR: 1, Patience: 1}
	for _, loss := range []float64{math.NaN(), 5, 4, 3} { // what follows NaN has fallen
		require.Equal(t, 1.0, p.Observe(loss))
	}
}

func TestSchedules(t *testing.T) {
	for name, c := range map[string]struct {
		s    optim.Schedule
		want map[int]float64
	}{
		"constant":                {optim.Constant(3), map[int]float64{0: 3, 100: 3}},
		"func":                    {optim.Func(func(n int) float64 { return float64(n) }), map[int]float64{5: 5}},
		"linear":                  {optim.Linear{From: 1, To: 3, Steps: 4}, map[int]float64{0: 1, 1: 1.5, 4: 3, 9: 3}},
		"cosine":                  {optim.Cosine{From: 2, Steps: 4}, map[int]float64{0: 2, 2: 1, 1: 1 + math.Sqrt2/2, 4: 0, 9: 0}},
		"restarts":                {optim.Restarts{From: 2, Steps: 4}, map[int]float64{0: 2, 2: 1, 4: 2, 402: 1}},
		"polynomial":              {optim.Polynomial{From: 4, Steps: 4, Power: 2}, map[int]float64{0: 4, 2: 1, 4: 0, 5: 0}},
		"exponential":             {optim.Exponential{From: 4, Gamma: 0.5}, map[int]float64{0: 4, 3: 0.5}},
		"step":                    {optim.Step{From: 4, Gamma: 0.5, Every: 3}, map[int]float64{0: 4, 2: 4, 3: 2, 6: 1}},
		"multistep":               {optim.MultiStep{From: 4, Gamma: 0.5, Steps: []int{2, 5}}, map[int]float64{1: 4, 2: 2, 4: 2, 5: 1}},
		"onecycle without a rise": {optim.OneCycle{Max: 2, Steps: 10, Rise: 0.1, Linear: true}, map[int]float64{0: 2}},
		"onecycle of a step":      {optim.OneCycle{Max: 2, Steps: 1, Rise: 1, Three: true}, map[int]float64{0: 2}},
		"inversesqrt":             {optim.InverseSqrt{Peak: 1, Warmup: 4}, map[int]float64{0: 0.25, 3: 1, 15: 0.5}},
		"warmup": {optim.Warmup{Steps: 4, Then: optim.Linear{From: 2, To: 0, Steps: 2}},
			map[int]float64{0: 0, 1: 0.5, 4: 2, 5: 1, 6: 0}},
		"phases": {optim.Phases{{optim.Constant(1), 2}, {optim.Linear{From: 5, To: 7, Steps: 2}, 0}},
			map[int]float64{0: 1, 1: 1, 2: 5, 3: 6, 4: 7, 9: 7}},
	} {
		for step, want := range c.want {
			require.InDelta(t, want, c.s.At(step), 1e-12, "%s at %d", name, step)
		}
	}
	require.Zero(t, optim.Phases{}.At(3))
	require.Zero(t, optim.Phases{{nil, 2}}.At(3))
	require.Zero(t, optim.Warmup{Steps: 2}.At(3))
}
