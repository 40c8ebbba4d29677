package jit

import (
	"slices"
	"sync"
)

// OnResolve calls fn whenever a kernel has been compiled or loaded, until the
// returned function is called. Calls are made one at a time, in the order of the events,
// by goroutines that resolve kernels: a launch may return while another goroutine is about
// to make the call. fn may launch kernels, whose events come when it has returned, and may
// stop itself and others.
func OnResolve(fn func(Event)) (stop func()) { return observers.add(fn) }

var observers observerList

// observerList delivers events. No lock is held while an observer runs: it may come back.
type observerList struct {
	mu      sync.Mutex
	list    []*observer
	waiting []Event
	busy    bool // a goroutine delivers
}

type observer struct {
	fn      func(Event)
	stopped bool // guarded by the list
}

func (l *observerList) add(fn func(Event)) (stop func()) {
	o := &observer{fn: fn}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(slices.Clip(l.list), o) // a delivery has the list before
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		o.stopped = true
		l.list = slices.DeleteFunc(slices.Clone(l.list), func(p *observer) bool { return p == o })
	}
}

// post adds an event; who does so calls deliver when it holds no lock.
func (l *observerList) post(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) > 0 {
		l.waiting = append(l.waiting, e)
	}
}

// deliver calls the observers for what was posted, unless a goroutine is at it.
func (l *observerList) deliver() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy {
		return
	}
	l.busy = true
	defer func() { l.busy = false }()
	for len(l.waiting) > 0 {
		e := l.waiting[0]
		l.waiting = l.waiting[1:]
		for _, o := range l.list {
			l.call(o, e)
		}
	}
	l.waiting = nil
}

// call calls one observer with the lock released.
func (l *observerList) call(o *observer, e Event) {
	if o.stopped {
		return
	}
	l.mu.Unlock()
	defer l.mu.Lock()
	o.fn(e)
}
