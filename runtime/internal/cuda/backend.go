package cuda

import "github.com/gokiln/kiln/runtime/internal/driver"

type Backend struct{}

func New() *Backend { return &Backend{} }

func (*Backend) Kind() string { return "cuda" }

func (*Backend) Probe() driver.Report { return driver.Report{Kind: "cuda", Err: driver.ErrNoDevice} }

func (*Backend) Open(int) (driver.Device, error) { return nil, driver.ErrNoDevice }
