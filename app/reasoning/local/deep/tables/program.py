"""The one program that answers questions to tables; what it does is told by its inputs."""

PROGRAM = """
from decimal import Decimal as F, getcontext
getcontext().prec = 40
rows = [r for r in rows]
def num(x):
    return None if x is None or x == '' else F(str(x))
def cell(r, c):
    return numbers[r][c] if kinds[c] == 'number' else days[r][c] if kinds[c] == 'day' else rows[r][c]
def keeps(r, f):
    c, sign, v = f
    a = cell(r, c)
    if a in (None, ''):
        return False
    if sign in ('in', 'not in'):
        return (rows[r][c] in v) == (sign == 'in')
    if sign == 'between':
        return v[0] <= a <= v[1]
    b = cell(r, v['column']) if isinstance(v, dict) else v
    if b in (None, ''):
        return False
    if kinds[c] == 'number':
        a, b = F(str(a)), F(str(b))
    return {'=': a == b, '<': a < b, '<=': a <= b, '>': a > b, '>=': a >= b}[sign]
def amount(r):
    out = F(1)
    for c in spec['measure']:
        if numbers[r][c] in (None, ''):
            return None
        out *= num(numbers[r][c])
    ch = spec['charge']
    if ch:
        n = out
        if ch.get('first', 0) > 1:
            n = max(F(0), out - int(ch['first']) + 1)
        elif ch.get('free'):
            n = max(F(0), out - num(ch['free']))
        out = n * num(ch['rate'])
        if ch.get('cap'):
            out = min(out, num(ch['cap']))
    return out
def total(chosen):
    how = spec['aggregate']
    if how == 'count' or not spec['measure']:
        return F(len(chosen))
    if how == 'distinct':
        return F(len({rows[r][spec['measure'][0]] for r in chosen}))
    values = [v for v in (amount(r) for r in chosen) if v is not None]
    if not values:
        return F(0) if how == 'sum' else None
    if how == 'average':
        return sum(values) / len(values)
    if how == 'median':
        values.sort()
        m = len(values) // 2
        return values[m] if len(values) % 2 else (values[m - 1] + values[m]) / 2
    return sum(values)
def shown(v):
    return '' if v is None else str(int(v)) if v == int(v) else format(v, 'f').rstrip('0')
kept = [r for r in range(len(rows)) if all(keeps(r, f) for f in spec['filters'])]
label = spec['label']
if spec['answer'] == 'list':
    out = ', '.join(dict.fromkeys(rows[r][label] for r in kept))
elif spec['compared']:
    c, a, b = spec['compared']
    out = shown(abs(total([r for r in kept if rows[r][c] == a]) - total([r for r in kept if rows[r][c] == b])))
elif spec['order']:
    groups = {}
    for r in kept:
        groups.setdefault(rows[r][spec['group']] if spec['group'] is not None else r, []).append(r)
    scored = [(total(rs), k, rs) for k, rs in groups.items() if total(rs) is not None]
    scored.sort(key=lambda t: t[0], reverse=spec['order'] == 'most')
    at = spec['place'] - 1
    if len(scored) <= at:
        out = ''
    else:
        best = [t for t in scored if t[0] == scored[at][0]]
        labels = ', '.join(dict.fromkeys(rows[t[2][0]][label] for t in best))
        out = shown(scored[at][0]) if spec['answer'] == 'value' else labels
elif spec['aggregate'] == 'share':
    spec['aggregate'] = 'sum'
    whole = total(range(len(rows)))
    out = shown(total(kept) * 100 / whole) if whole else ''
else:
    out = shown(total(kept))
{'result': out}
"""
