// What the documents of evidences are called: an evidence holds the address alone.

import { call } from "./client.js";
import { ownFile, safeAddress } from "./dom.js";

const PATIENCE_MS = 1500;
const MOST_ADDRESSES = 50;
const known = new Map(); // address -> [{title, createdAt}], the latest in force first

// An address without the page.
export const bare = (url) => url.split("#page=")[0];

// Map of address -> title; addresses without one (files, calculations, what may not be read any more) are left out. It is
// no matter when it cannot be asked: addresses are shown then.
export async function titlesOf(evidence) {
  const asked = [...new Set((evidence ?? []).map(({ url }) => bare(url)))].filter((url) => (safeAddress(url) ?? ownFile(url)) !== null && !known.has(url));
  if (asked.length) await Promise.race([learn(asked.slice(0, MOST_ADDRESSES)), new Promise((resolve) => setTimeout(resolve, PATIENCE_MS))]);
  const found = (evidence ?? []).map((item) => [item.url, titleAt(item)]);
  return new Map(found.filter(([, title]) => title));
}

async function learn(urls) {
  try {
    const { documents } = await call("GET", `/reading/titles?${urls.map((url) => `url=${encodeURIComponent(url)}`).join("&")}`);
    for (const url of urls) known.set(url, documents.filter((one) => one.url === url).map(({ title, created_at: day }) => ({ title, createdAt: secondOf(day) })));
  } catch { /* asked again with the next answer */ }
}

// Versions that are kept as documents of their own share an address; the day tells which one is meant.
function titleAt({ url, created_at: day }) {
  const titles = known.get(bare(url)) ?? [];
  return (titles.find(({ createdAt }) => createdAt === secondOf(day)) ?? titles[0])?.title ?? null;
}

const secondOf = (iso) => Math.floor(Date.parse(iso) / 1000);

export function forgetTitles() { known.clear(); }
