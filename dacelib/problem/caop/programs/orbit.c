/* Motion and quadrature: an N-body system, Runge-Kutta with step control,
   roots, minima, integrals, polynomials and splines. */
#include <math.h>
#include <stdio.h>

typedef struct {
    double x[3], v[3], mass;
} body;

static body bodies[5] = {
    {{0, 0, 0}, {0, 0, 0}, 39.47841760435743},
    {{4.84143144246472090, -1.16032004402742839, -0.103622044471123109}, {0.606326392995832, 2.81198684491626, -0.02521836165988763}, 0.03769367487038949},
    {{8.34336671824457987, 4.12479856412430479, -0.403523417114321381}, {-1.01077434617879, 1.82566237123041, 0.00841576137658415}, 0.01128632613131969},
    {{12.8943695621391310, -15.1111514016986312, -0.223307578892655734}, {1.08279100644154, 0.868713018169608, -0.01083263740136364}, 0.001723724057059711},
    {{15.3796971148509165, -25.9193146099879641, 0.179258772950371181}, {0.979090732243898, 0.594698998647676, -0.034755955550786}, 0.002033686869924463},
};

static void advance(body *b, int n, double dt)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            double d[3], r2 = 0;
            for (int k = 0; k < 3; k++) {
                d[k] = b[i].x[k] - b[j].x[k];
                r2 += d[k] * d[k];
            }
            double f = dt / (r2 * sqrt(r2));
            for (int k = 0; k < 3; k++) {
                b[i].v[k] -= d[k] * b[j].mass * f;
                b[j].v[k] += d[k] * b[i].mass * f;
            }
        }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            b[i].x[k] += dt * b[i].v[k];
}

static double energy(const body *b, int n)
{
    double e = 0;
    for (int i = 0; i < n; i++) {
        double v2 = 0;
        for (int k = 0; k < 3; k++)
            v2 += b[i].v[k] * b[i].v[k];
        e += 0.5 * b[i].mass * v2;
        for (int j = i + 1; j < n; j++) {
            double r2 = 0;
            for (int k = 0; k < 3; k++)
                r2 += (b[i].x[k] - b[j].x[k]) * (b[i].x[k] - b[j].x[k]);
            e -= b[i].mass * b[j].mass / sqrt(r2);
        }
    }
    return e;
}

typedef void (*field)(double t, const double *y, double *dy);

static void pendulum(double t, const double *y, double *dy)
{
    (void)t;
    dy[0] = y[1];
    dy[1] = -sin(y[0]);
}

static void decay(double t, const double *y, double *dy)
{
    dy[0] = -y[0] * cos(t);
    dy[1] = -2 * y[1];
}

static void rk4(field f, double t, double h, const double *y, double *out)
{
    double k1[2], k2[2], k3[2], k4[2], z[2];
    f(t, y, k1);
    for (int i = 0; i < 2; i++)
        z[i] = y[i] + h / 2 * k1[i];
    f(t + h / 2, z, k2);
    for (int i = 0; i < 2; i++)
        z[i] = y[i] + h / 2 * k2[i];
    f(t + h / 2, z, k3);
    for (int i = 0; i < 2; i++)
        z[i] = y[i] + h * k3[i];
    f(t + h, z, k4);
    for (int i = 0; i < 2; i++)
        out[i] = y[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
}

static int integrate(field f, double t, double end, double *y, double tolerance)
{
    double h = 0.1;
    int steps = 0;
    while (t < end) {
        double whole[2], half[2], error = 0;
        if (t + h > end)
            h = end - t;
        rk4(f, t, h, y, whole);
        rk4(f, t, h / 2, y, half);
        rk4(f, t + h / 2, h / 2, half, half);
        for (int i = 0; i < 2; i++)
            error = fmax(error, fabs(whole[i] - half[i]));
        if (error <= tolerance || h < 1e-9) {
            t += h;
            for (int i = 0; i < 2; i++)
                y[i] = half[i] + (half[i] - whole[i]) / 15;
            steps++;
        }
        h *= fmin(4, fmax(0.1, 0.9 * pow(tolerance / (error + 1e-300), 0.2)));
    }
    return steps;
}

typedef double (*function)(double);

static double cubic(double x) { return x * x * x - 2 * x - 5; }
static double bump(double x) { return exp(-x * x); }
static double bowl(double x) { return (x - 1.25) * (x - 1.25) + 3; }

static double simpson(function f, double a, double b, double fa, double fm, double fb, double whole, double eps, int depth)
{
    double m = (a + b) / 2, l = f((a + m) / 2), r = f((m + b) / 2);
    double left = (m - a) / 6 * (fa + 4 * l + fm), right = (b - m) / 6 * (fm + 4 * r + fb);
    double delta = left + right - whole;
    if (depth <= 0 || fabs(delta) <= 15 * eps)
        return left + right + delta / 15;
    return simpson(f, a, m, fa, l, fm, left, eps / 2, depth - 1) + simpson(f, m, b, fm, r, fb, right, eps / 2, depth - 1);
}

static double integral(function f, double a, double b)
{
    double fa = f(a), fm = f((a + b) / 2), fb = f(b);
    return simpson(f, a, b, fa, fm, fb, (b - a) / 6 * (fa + 4 * fm + fb), 1e-12, 40);
}

static double root(function f, double a, double b)
{
    for (int i = 0; i < 200 && fabs(b - a) > 1e-14; i++) {
        double m = (a + b) / 2;
        if ((f(a) < 0) == (f(m) < 0))
            a = m;
        else
            b = m;
    }
    return (a + b) / 2;
}

static double minimum(function f, double a, double b)
{
    const double g = 0.6180339887498949;
    double c = b - g * (b - a), d = a + g * (b - a);
    while (b - a > 1e-9) {
        if (f(c) < f(d))
            b = d;
        else
            a = c;
        c = b - g * (b - a);
        d = a + g * (b - a);
    }
    return (a + b) / 2;
}

static double spline(const double *y, int n, double at)
{
    double m[32], u[32];
    m[0] = u[0] = 0;
    for (int i = 1; i < n - 1; i++) {
        double p = m[i - 1] / 2 + 2;
        m[i] = -0.5 / p;
        u[i] = (3 * (y[i + 1] - 2 * y[i] + y[i - 1]) - 0.5 * u[i - 1]) / p;
    }
    m[n - 1] = 0;
    for (int i = n - 2; i >= 0; i--)
        m[i] = m[i] * m[i + 1] + u[i];
    int k = (int)at;
    if (k > n - 2)
        k = n - 2;
    double b = at - k, a = 1 - b;
    return a * y[k] + b * y[k + 1] + ((a * a * a - a) * m[k] + (b * b * b - b) * m[k + 1]) / 6;
}

int main(void)
{
    int bad = 0;
    double p[3] = {0, 0, 0};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++)
            p[k] += bodies[i].v[k] * bodies[i].mass;
    for (int k = 0; k < 3; k++)
        bodies[0].v[k] -= p[k] / bodies[0].mass;
    double before = energy(bodies, 5);
    for (int i = 0; i < 2000; i++)
        advance(bodies, 5, 0.001);
    bad += fabs(energy(bodies, 5) / before - 1) > 1e-3;

    double y[2] = {1, 0}, z[2] = {1, 1};
    int steps = integrate(pendulum, 0, 10, y, 1e-9);
    bad += fabs(y[1] * y[1] / 2 - cos(y[0]) + cos(1)) > 1e-6;
    integrate(decay, 0, 3, z, 1e-10);
    bad += fabs(z[0] - exp(-sin(3))) > 1e-7 || fabs(z[1] - exp(-6)) > 1e-7;

    bad += fabs(cubic(root(cubic, 0, 5))) > 1e-9;
    bad += fabs(integral(bump, -6, 6) - 1.7724538509055159) > 1e-9;
    bad += fabs(minimum(bowl, -10, 10) - 1.25) > 1e-6;

    double s[16];
    for (int i = 0; i < 16; i++)
        s[i] = sin(i * 0.4);
    for (double at = 2; at < 13; at += 0.37)
        bad += fabs(spline(s, 16, at) - sin(at * 0.4)) > 5e-3;
    printf("orbit: %d failures, %d steps\n", bad, steps);
    return bad != 0;
}
