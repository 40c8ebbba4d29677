package optim

import "math"

// Schedule is a learning rate that depends on the step, which counts from 0:
//
//	opt.SetLR(plan.At(opt.Steps()))
type Schedule interface {
	At(step int) float64
}

// Func is a function as a [Schedule].
type Func func(step int) float64

// At is the learning rate of a step.
func (f Func) At(step int) float64 { return f(step) }

// Constant is a learning rate that stays.
type Constant float64

// At is the learning rate of a step.
func (c Constant) At(int) float64 { return float64(c) }

// part is how much of n steps has gone, between 0 and 1.
func part(step, n int) float64 {
	if n <= 0 || step >= n {
		return 1
	}
	return float64(max(step, 0)) / float64(n)
}

// Linear goes from one learning rate to another in a number of steps, and stays there.
type Linear struct {
	From, To float64
	Steps    int
}

// At is the learning rate of a step.
func (l Linear) At(step int) float64 { return l.From + (l.To-l.From)*part(step, l.Steps) }

// Cosine goes from one learning rate to another along half of a cosine, and stays there
// (Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2017,
// equation 5).
type Cosine struct {
	From, To float64
	Steps    int
}

// At is the learning rate of a step.
func (c Cosine) At(step int) float64 { return cosine(c.From, c.To, part(step, c.Steps)) }

// cosine is from at 0 and to at 1.
func cosine(from, to, x float64) float64 { return to + (from-to)*(1+math.Cos(math.Pi*x))/2 }

// Restarts is [Cosine] again and again (SGDR): the first time in Steps steps, and each time in Mult
// times as many as before.
type Restarts struct {
	From, To float64
	Steps    int
	Mult     int // 0 stands for 1
}

// At is the learning rate of a step.
func (r Restarts) At(step int) float64 {
	if r.Steps <= 0 {
		return r.To
	}
	n, mult := r.Steps, max(r.Mult, 1)
	if mult == 1 {
		return cosine(r.From, r.To, part(step%n, n))
	}
	for step >= n {
		step -= n
		n *= mult
	}
	return cosine(r.From, r.To, part(step, n))
}

// Polynomial goes from one learning rate to another as (1 - step/Steps) to a power, and stays
// there.
type Polynomial struct {
	From, To float64
	Steps    int
	Power    float64 // 0 stands for 1
}

// At is the learning rate of a step.
func (p Polynomial) At(step int) float64 {
	power := or(p.Power, 1)
	return p.To + (p.From-p.To)*math.Pow(1-part(step, p.Steps), power)
}

// Exponential multiplies the learning rate by Gamma in every step.
type Exponential struct{ From, Gamma float64 }

// At is the learning rate of a step.
func (e Exponential) At(step int) float64 { return e.From * math.Pow(e.Gamma, float64(step)) }

// Step multiplies the learning rate by Gamma every so many steps.
type Step struct {
	From, Gamma float64
	Every       int
}

// At is the learning rate of a step.
func (s Step) At(step int) float64 {
	return s.From * math.Pow(s.Gamma, float64(step/max(s.Every, 1)))
}

// MultiStep multiplies the learning rate by Gamma at each of the steps in Steps.
type MultiStep struct {
	From, Gamma float64
	Steps       []int
}

// At is the learning rate of a step.
func (m MultiStep) At(step int) float64 {
	lr := m.From
	for _, at := range m.Steps {
		if step >= at {
			lr *= m.Gamma
		}
	}
	return lr
}

// InverseSqrt grows from 0 to Peak in Warmup steps and falls with the square root of the step then
// (Vaswani et al., "Attention Is All You Need", 2017, section 5.3).
type InverseSqrt struct {
	Peak   float64
	Warmup int
}

// At is the learning rate of a step.
func (s InverseSqrt) At(step int) float64 {
	w, n := float64(max(s.Warmup, 1)), float64(step+1)
	return s.Peak * min(n/w, math.Sqrt(w/n))
}

// OneCycle grows to Max and falls again (Smith and Topin, "Super-Convergence", 2018), as
// torch.optim.lr_scheduler.OneCycleLR does without momentum.
type OneCycle struct {
	Max      float64
	Steps    int     // in all
	Rise     float64 // the part of the steps in which it grows; 0 stands for 0.3
	Div      float64 // it begins at Max/Div; 0 stands for 25
	FinalDiv float64 // it ends at Max/Div/FinalDiv; 0 stands for 1e4
	Linear   bool    // along lines, else along cosines
	Three    bool    // three phases: it falls to where it began in as many steps as it grew
}

// At is the learning rate of a step.
func (c OneCycle) At(step int) float64 {
	begin := c.Max / or(c.Div, 25)
	end := begin / or(c.FinalDiv, 1e4)
	rise := or(c.Rise, 0.3)*float64(c.Steps) - 1
	last := float64(c.Steps - 1)
	x := min(float64(step), last)
	switch {
	case x <= rise:
		return c.along(begin, c.Max, over(x, rise))
	case c.Three && x <= 2*rise:
		return c.along(c.Max, begin, over(x-rise, rise))
	case c.Three:
		return c.along(begin, end, over(x-2*rise, last-2*rise))
	}
	return c.along(c.Max, end, over(x-rise, last-rise))
}

// over is x/n, 1 of a phase without steps.
func over(x, n float64) float64 {
	if n == 0 {
		return 1
	}
	return x / n
}

// along goes from one rate to another.
func (c OneCycle) along(from, to, x float64) float64 {
	if c.Linear {
		return from + (to-from)*x
	}
	return cosine(from, to, x)
}

// Warmup grows from From times the first learning rate of Then to that in so many steps, and goes
// on with Then from its first step.
type Warmup struct {
	Steps int
	From  float64 // as a part, 0 to begin with no learning rate
	Then  Schedule
}

// At is the learning rate of a step.
func (w Warmup) At(step int) float64 {
	if w.Then == nil {
		return 0
	}
	if step >= w.Steps {
		return w.Then.At(step - w.Steps)
	}
	return w.Then.At(0) * (w.From + (1-w.From)*part(step, w.Steps))
}

// Phases is one schedule after the other: each begins with its step 0 where the one before it
// ends.
type Phases []Phase

// Phase is a schedule for so many steps.
type Phase struct {
	Schedule Schedule
	Steps    int // of the last one of [Phases] without meaning
}

// At is the learning rate of a step.
func (p Phases) At(step int) float64 {
	for i, phase := range p {
		if phase.Schedule != nil && (step < phase.Steps || i == len(p)-1) {
			return phase.Schedule.At(step)
		}
		step -= phase.Steps
	}
	return 0
}

// Plateau multiplies the learning rate by Factor when a loss has not fallen for more than Patience
// observations, as torch.optim.lr_scheduler.ReduceLROnPlateau does.
type Plateau struct {
	LR        float64 // the learning rate now
	Factor    float64 // 0 stands for 0.1
	Patience  int
	Threshold float64 // the part by which a loss has to fall to count; 0 stands for 1e-4
	Cooldown  int     // observations after a change that do not count
	Min       float64

	Best      float64 // the lowest loss so far, of at least one observation
	Seen      bool    // there was an observation
	Bad, Cool int     // observations that were not better, and that are left of the cooldown
}

// Observe notes a loss and returns the learning rate from then on. One that is NaN has not fallen.
// All of its state is in the fields, which can be saved.
func (p *Plateau) Observe(loss float64) float64 {
	if !p.Seen && !math.IsNaN(loss) || loss < p.Best*(1-or(p.Threshold, 1e-4)) {
		p.Best, p.Seen, p.Bad = loss, true, 0
	} else {
		p.Bad++
	}
	if p.Cool > 0 {
		p.Cool--
		p.Bad = 0
	}
	if p.Bad > p.Patience {
		p.LR = max(p.LR*or(p.Factor, 0.1), p.Min)
		p.Cool, p.Bad = p.Cooldown, 0
	}
	return p.LR
}
