package vendorapi

import "sync"

// owned is what was made on a device and not destroyed yet: the handle, or the
// address, with the function that destroys it.
type owned struct {
	mu   sync.Mutex
	list map[thing]struct{}
}

type thing struct{ destroy, handle uintptr }

func (o *owned) add(destroy, handle uintptr) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.list == nil {
		o.list = map[thing]struct{}{}
	}
	o.list[thing{destroy, handle}] = struct{}{}
}

func (o *owned) drop(destroy, handle uintptr) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.list, thing{destroy, handle})
}

// take empties the list.
func (o *owned) take() []thing {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []thing
	for t := range o.list {
		all = append(all, t)
	}
	o.list = nil
	return all
}
