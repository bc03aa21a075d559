module berth.dev/tests/extender

go 1.21
