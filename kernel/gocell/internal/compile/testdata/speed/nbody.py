import math


class Body:
    def __init__(self, x, y, z, vx, vy, vz, mass):
        self.x, self.y, self.z = x, y, z
        self.vx, self.vy, self.vz = vx, vy, vz
        self.mass = mass


def advance(bodies, dt):
    for i, a in enumerate(bodies):
        for j in range(i + 1, len(bodies)):
            b = bodies[j]
            dx, dy, dz = a.x - b.x, a.y - b.y, a.z - b.z
            d = dx * dx + dy * dy + dz * dz
            mag = dt / (d * math.sqrt(d))
            a.vx -= dx * b.mass * mag
            a.vy -= dy * b.mass * mag
            a.vz -= dz * b.mass * mag
            b.vx += dx * a.mass * mag
            b.vy += dy * a.mass * mag
            b.vz += dz * a.mass * mag
    for a in bodies:
        a.x += dt * a.vx
        a.y += dt * a.vy
        a.z += dt * a.vz


bodies = [
    Body(0, 0, 0, 0, 0, 0, 39.47),
    Body(4.84, -1.16, -0.10, 0.606, 2.81, -0.02, 0.037),
    Body(8.34, 4.12, -0.4, -1.01, 1.82, 0.008, 0.011),
    Body(12.89, -15.11, -0.22, 1.08, 0.868, -0.01, 0.0017),
    Body(15.37, -25.9, 0.179, 0.979, 0.594, -0.034, 0.002),
]
for _ in range(20000):
    advance(bodies, 0.01)
print("%.9f" % bodies[1].x, end="")
